import { visible } from './characters';

/** Text that Markdown shows as it is: no emphasis, link, image, HTML, table or automatic link. */
export function markdownText(text: string): string {
  return visible(text)
    .replaceAll(/[\\`*_{}[\]()#+\-.!<>|~$]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll(/[:@]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Text as inline code. */
export function markdownCode(text: string): string {
  const shown = visible(text);
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = longest > 0 || /^ .* $/.test(shown) ? ' ' : '';
  return shown === '' ? '' : `${fence}${pad}${shown}${pad}${fence}`;
}
