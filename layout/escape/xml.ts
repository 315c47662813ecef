import { visible } from './characters';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text of an element or an attribute of SVG. A log of CI that shows the picture finds no command in it. */
export function xmlText(text: string): string {
  return visible(text)
    .replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? mark)
    .replaceAll(/#(?=#(?:vso)?\[)/gi, '&#35;');
}
