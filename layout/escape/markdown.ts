import { visible } from './characters';

/**
 * A piece of Markdown. It is made by `markdown` and `code` from texts that are escaped, by `trusted` from sentences and numbers of this
 * project, and by joining pieces: an editor is given nothing else to show.
 */
export class Markdown {
  private constructor(readonly source: string) {}

  /** A sentence that this project wrote, such as the description of a key, or numbers: no text of a file is in it. */
  static trusted(source: string): Markdown {
    return new Markdown(source);
  }

  /** Pieces with a separator between them. */
  static join(pieces: readonly Markdown[], separator: string): Markdown {
    return new Markdown(pieces.map(({ source }) => source).join(separator));
  }
}

/** Markdown with texts in it: a text shows as it is, whatever it holds, and Markdown stays what it is. */
export function markdown(strings: TemplateStringsArray, ...values: readonly (string | number | Markdown)[]): Markdown {
  const shown = values.map((value) => (value instanceof Markdown ? value.source : markdownText(String(value))));
  return Markdown.trusted(strings.map((part, index) => part + (shown[index] ?? '')).join(''));
}

/** Text that Markdown shows as it is: no emphasis, link, image, HTML, table or automatic link. */
export function markdownText(text: string): string {
  return visible(text)
    .replaceAll(/[\\`*{}[\]()#+\-.!<>|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll(/[:@]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Text as inline code. */
export function code(text: string): Markdown {
  return Markdown.trusted(codeText(text));
}

function codeText(text: string): string {
  const shown = visible(text);
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = longest > 0 || /^ .* $/.test(shown) ? ' ' : '';
  return shown === '' ? '' : `${fence}${pad}${shown}${pad}${fence}`;
}
