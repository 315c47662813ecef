import type { Ground } from '../../picture/colour';

/** Whether the editor's background is dark or light, whatever its contrast. */
export function themeKind(): Ground {
  const { classList } = document.body;
  return classList.contains('vscode-light') || classList.contains('vscode-high-contrast-light') ? 'light' : 'dark';
}

/** Calls back when the editor's theme changes. */
export function onThemeChange(changed: () => void): void {
  new MutationObserver(changed).observe(document.body, { attributes: true, attributeFilter: ['data-vscode-theme-id'] });
  new MutationObserver(changed).observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
}

/** Calls back when a pixel of the page becomes more or fewer pixels of the screen: no size on the page need change. */
export function onResolutionChange(changed: () => void): void {
  const again = () => {
    changed();
    onResolutionChange(changed);
  };
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener('change', again, { once: true });
}

/** The editor's colours as the style sheet names them, read once a drawing. */
export interface Theme {
  readonly foreground: string;
  readonly background: string;
  readonly muted: string;
  readonly box: string;
  readonly boxFill: string;
  readonly outline: string;
  readonly focus: string;
  readonly error: string;
  /** Lines between machines. */
  readonly link: string;
}

export function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(`--grid-${name}`).trim() || '#888888';
  return {
    foreground: value('foreground'),
    background: value('background'),
    muted: value('muted'),
    box: value('box'),
    boxFill: value('box-fill'),
    outline: value('outline'),
    focus: value('focus'),
    error: value('error'),
    link: value('link'),
  };
}
