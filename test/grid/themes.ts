/** The themes, with the class that VS Code gives the body of a webview. */
const KINDS = {
  dark: 'vscode-dark',
  light: 'vscode-light',
  'high-contrast': 'vscode-high-contrast',
  'high-contrast-light': 'vscode-high-contrast vscode-high-contrast-light',
} as const;

export type ThemeName = keyof typeof KINDS;

export const THEME_NAMES: readonly ThemeName[] = ['dark', 'light', 'high-contrast', 'high-contrast-light'];

/** The values that VS Code's own themes give the variables that the panel reads, theme by theme; empty where one has none. */
const VARIABLES = {
  'editor-background': ['#1f1f1f', '#ffffff', '#000000', '#ffffff'],
  'editor-foreground': ['#cccccc', '#3b3b3b', '#ffffff', '#292929'],
  descriptionForeground: ['#9d9d9d', '#3b3b3b', 'rgba(255, 255, 255, 0.7)', 'rgba(41, 41, 41, 0.7)'],
  'panel-border': ['#2b2b2b', '#e5e5e5', '#6fc3df', '#0f4a85'],
  contrastBorder: ['', '', '#6fc3df', '#0f4a85'],
  contrastActiveBorder: ['', '', '#f38518', '#006bbd'],
  focusBorder: ['#0078d4', '#005fb8', '#f38518', '#006bbd'],
  errorForeground: ['#f85149', '#f85149', '#f48771', '#b5200d'],
  'editorWarning-foreground': ['#cca700', '#bf8803', '#ffd370', '#895503'],
  'button-background': ['#0078d4', '#005fb8', '#000000', '#0f4a85'],
  'button-foreground': ['#ffffff', '#ffffff', '#ffffff', '#ffffff'],
  'button-secondaryBackground': ['#313131', '#e5e5e5', '', '#ffffff'],
  'button-secondaryForeground': ['#cccccc', '#3b3b3b', '#ffffff', '#292929'],
  'toolbar-hoverBackground': ['rgba(90, 93, 94, 0.31)', 'rgba(184, 184, 184, 0.31)', '', ''],
  'input-background': ['#313131', '#ffffff', '#000000', '#ffffff'],
  'input-foreground': ['#cccccc', '#3b3b3b', '#ffffff', '#292929'],
  'input-border': ['#3c3c3c', '#cecece', '#6fc3df', '#0f4a85'],
  'dropdown-background': ['#313131', '#ffffff', '#000000', '#ffffff'],
  'dropdown-foreground': ['#cccccc', '#3b3b3b', '#ffffff', '#292929'],
  'dropdown-border': ['#3c3c3c', '#cecece', '#6fc3df', '#0f4a85'],
  'textLink-foreground': ['#4daafc', '#005fb8', '#21a6ff', '#0f4a85'],
  'list-hoverBackground': ['#2a2d2e', '#f2f2f2', 'rgba(255, 255, 255, 0.1)', 'rgba(15, 74, 133, 0.1)'],
  'list-activeSelectionBackground': ['#04395e', '#e8e8e8', '', 'rgba(15, 74, 133, 0.1)'],
  'list-activeSelectionForeground': ['#ffffff', '#000000', '', '#292929'],
  'inputValidation-errorBackground': ['#5a1d1d', '#f2dede', '#000000', '#ffffff'],
  'inputValidation-errorBorder': ['#be1100', '#be1100', '#6fc3df', '#0f4a85'],
} as const;

/** The value of a variable in a theme. */
export const themeColour = (theme: ThemeName, variable: keyof typeof VARIABLES): string =>
  VARIABLES[variable][THEME_NAMES.indexOf(theme)] ?? '';

/** The class of a theme and its style sheet. */
export function themeOf(theme: ThemeName): { readonly kind: string; readonly css: string } {
  const set = Object.entries(VARIABLES).map(([name, values]) => [name, values[THEME_NAMES.indexOf(theme)] ?? '']);
  const css = set.filter(([, value]) => value !== '').map(([name, value]) => `--vscode-${name}: ${value};`);
  return {
    kind: KINDS[theme],
    css: `:root { --vscode-font-family: system-ui, sans-serif; --vscode-font-size: 13px; ${css.join(' ')} }`,
  };
}
