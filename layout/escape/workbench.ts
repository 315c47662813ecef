import { visible } from './characters';

/**
 * Text for a notification, a progress title, a quick pick or the status bar: VS Code makes links of `[text](target)`, `command:`
 * targets included, and icons of `$(name)`.
 */
export function workbenchText(text: string): string {
  return text
    .split('\n')
    .map((line) =>
      visible(line)
        .replaceAll(/\](?=\()/g, '] ')
        .replaceAll(/\$(?=\()/g, '$ '),
    )
    .join('\n');
}
