import { h, replaceKeepingFocus } from './dom';

/** A button that opens a small panel of controls under it. */
export class Menu {
  readonly #body = h('div', { class: 'menu-body' });
  readonly element: HTMLDetailsElement;

  constructor(label: string, title: string) {
    const summary = h('summary', { title }, label);
    this.element = h('details', { class: 'menu' }, summary, this.#body);
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.element.open) {
        this.close();
        summary.focus();
        event.stopPropagation();
      }
    });
    document.addEventListener('pointerdown', ({ target }) => {
      if (target instanceof Node && !this.element.contains(target)) {
        this.close();
      }
    });
    this.element.addEventListener('focusout', ({ relatedTarget }) => {
      if (relatedTarget instanceof Node && !this.element.contains(relatedTarget)) {
        this.close();
      }
    });
  }

  close(): void {
    this.element.open = false;
  }

  /** Replaces the controls; without any, the menu is invisible and keeps its place. */
  fill(...controls: readonly HTMLElement[]): void {
    this.element.inert = controls.length === 0;
    replaceKeepingFocus(this.#body, ...controls);
  }
}
