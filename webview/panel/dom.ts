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

/** A button that does something. */
export function button(
  label: string,
  run: () => void,
  attributes: Readonly<Record<string, string | boolean>> = {},
): HTMLButtonElement {
  const element = h('button', { type: 'button', ...attributes }, label);
  element.addEventListener('click', run);
  return element;
}

/** One entry of a list to choose from. */
export interface Option<T extends string = string> {
  readonly value: T;
  readonly label: string;
}

/** A labelled list to choose from. */
export function picker<T extends string>(
  label: string,
  options: readonly Option<T>[],
  value: T,
  change: (value: T) => void,
): HTMLElement {
  const select = h(
    'select',
    { 'data-keep': `pick ${label}`, 'aria-label': label },
    ...options.map((option) => h('option', { value: option.value, selected: option.value === value }, option.label)),
  );
  select.addEventListener('change', () => {
    const chosen = options.find((option) => option.value === select.value);
    if (chosen) {
      change(chosen.value);
    }
  });
  return h('label', { class: 'picker' }, h('span', {}, label), select);
}

/**
 * Replaces the children of an element, and gives the focus back to the new one with the same `data-keep`: what has the
 * focus is drawn anew when the text changes.
 */
export function replaceKeepingFocus(parent: Element, ...children: readonly Child[]): void {
  const focused = document.activeElement;
  const key = focused && parent.contains(focused) ? focused.getAttribute('data-keep') : null;
  parent.replaceChildren(...children);
  if (key !== null) {
    for (const element of parent.querySelectorAll<HTMLElement>('[data-keep]')) {
      if (element.getAttribute('data-keep') === key) {
        element.focus();
        return;
      }
    }
  }
}
