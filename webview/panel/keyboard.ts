/** What a person can do with keys while a picture of ranks has the focus. */
export interface KeyActions {
  /** Goes to the next rank in a direction, framing ranks on the way where `extend` is set. */
  move(dx: number, dy: number, extend: boolean): void;
  reveal(): void;
  fail(): void;
  copy(): void;
  zoom(factor: number): void;
  fit(): void;
  first(): void;
  last(): void;
}

/** How much larger or smaller one key press makes the picture. */
const ZOOM = 1.5;

/** Runs the action of a key; other keys, and keys with Control, Alt or Meta, go to the editor. */
export function handleKey(event: KeyboardEvent, actions: KeyActions): void {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => actions.move(-1, 0, shiftKey),
    ArrowRight: () => actions.move(1, 0, shiftKey),
    ArrowUp: () => actions.move(0, -1, shiftKey),
    ArrowDown: () => actions.move(0, 1, shiftKey),
    Enter: () => actions.reveal(),
    x: () => actions.fail(),
    c: () => actions.copy(),
    '+': () => actions.zoom(ZOOM),
    '=': () => actions.zoom(ZOOM),
    '-': () => actions.zoom(1 / ZOOM),
    '0': () => actions.fit(),
    Home: () => actions.first(),
    End: () => actions.last(),
  };
  const action = keys[key];
  if (action && !ctrlKey && !metaKey && !altKey) {
    action();
    event.preventDefault();
  }
}
