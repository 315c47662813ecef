import type { Ground } from '../../picture/colour';
import type { Role } from '../../picture/paper';

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

/** The variable of the style sheet that has the colour of each role, and of what a screen has beside paper. */
const VARIABLES: Readonly<Record<Role | 'outline' | 'focus', string>> = {
  text: '--grid-foreground',
  muted: '--grid-muted',
  box: '--grid-box',
  boxFill: '--grid-box-fill',
  ground: '--grid-background',
  error: '--grid-error',
  warning: '--grid-link',
  outline: '--grid-outline',
  focus: '--grid-focus',
};

/** The colour of a role, as an attribute of SVG that follows the theme. */
export const themed = (role: Role): string => `var(${VARIABLES[role]})`;

/** The editor's colours, read once a drawing. */
export type Theme = Readonly<Record<keyof typeof VARIABLES, string>>;

export function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  const colourOf = (variable: string) => style.getPropertyValue(variable).trim() || '#888888';
  return Object.fromEntries(Object.entries(VARIABLES).map(([role, name]) => [role, colourOf(name)])) as Theme;
}
