type Child = Node | string;

/** Makes an element with attributes and children. Texts become text nodes, so nothing in a layout can become markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | boolean>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children);
  return element;
}

/** A number with its thousands separated, as the reader's language does it. */
export const formatted = (n: number): string => n.toLocaleString(document.documentElement.lang || 'en');
