type Child = Node | string;
type Attributes = Readonly<Record<string, string | boolean>>;

/** Makes an element with attributes and children. Texts become text nodes, so nothing in a layout can become markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
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
  content: Child | readonly Child[],
  run: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const element = h('button', { type: 'button', ...attributes }, ...[content].flat());
  element.addEventListener('click', run);
  return element;
}

/**
 * A button in a text.
 * @param keep see `replaceKeepingFocus`
 */
export const link = (label: string, run: () => void, keep: string, attributes: Attributes = {}): HTMLButtonElement =>
  button(label, run, { class: 'link', 'data-keep': keep, ...attributes });

/** What a view without results says, and the command that gets them. */
export const invitation = (text: string, command: string, run: () => void, ...more: readonly Child[]): HTMLElement =>
  h('div', { class: 'empty' }, h('p', {}, text), button(command, run, { class: 'primary' }), ...more);

/** A table with the names of its columns, or with cells of its head. */
export const tableOf = (
  columns: readonly (string | HTMLTableCellElement)[],
  rows: readonly HTMLElement[],
  attributes: Attributes = {},
): HTMLElement =>
  h(
    'table',
    attributes,
    h(
      'thead',
      {},
      h('tr', {}, ...columns.map((one) => (typeof one === 'string' ? h('th', { scope: 'col' }, one) : one))),
    ),
    h('tbody', {}, ...rows),
  );

/** A row of a table: its name and its cells. */
export const tableRow = (name: Child, cells: readonly Child[], attributes: Attributes = {}): HTMLElement =>
  h('tr', attributes, h('th', { scope: 'row' }, name), ...cells.map((cell) => h('td', {}, cell)));

/** One entry of a list to choose from. */
export interface Option<T extends string = string> {
  readonly value: T;
  readonly label: string;
}

/** A labelled list to choose from; a text stands for itself. */
export function picker<T extends string>(
  label: string,
  choices: readonly (T | Option<T>)[],
  value: T,
  change: (value: T) => void,
): HTMLElement {
  const options = choices.map((one) => (typeof one === 'string' ? { value: one, label: one } : one));
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
        // what comes anew above it, such as a card, stays in view
        element.focus({ preventScroll: true });
        return;
      }
    }
  }
}
