import { Document, Scalar, visit } from 'yaml';
import { codePointEscape, unsafeCharactersIn, withoutUnsafe } from './characters';

/** What a log of CI obeys: a command at the start of a line, or anywhere in it. */
const COMMAND = /^\s*::|#(?=#(?:vso)?\[)/i;

/**
 * Plain data as YAML, safe to show: texts that hold what a terminal or a log of CI obeys, or what nobody sees, are in double quotes
 * with escapes, and YAML reads them back as they were.
 * @param flow whether lists and maps are written on one line
 */
export function yamlText(value: unknown, { flow = false }: { readonly flow?: boolean } = {}): string {
  // kubectl and PyYAML read YAML 1.1, in which more words are numbers and booleans
  const document = new Document(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar(_, node) {
      // PyYAML takes a lone `=` for a value of a kind of its own
      const isSpecial = (text: string) => unsafeCharactersIn(text).length > 0 || COMMAND.test(text) || text === '=';
      if (typeof node.value === 'string' && isSpecial(node.value)) {
        node.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  const text = document.toString({
    lineWidth: 0,
    flowCollectionPadding: false,
    // a quoted text stays on its line, whatever breaks it holds
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
    ...(flow && { collectionStyle: 'flow' }),
  });
  const safe = withoutUnsafe(text, (character) => (character === '\n' ? character : codePointEscape(character)));
  // nothing but texts has such a mark: there are no comments
  return safe.replaceAll(/#(?=#(?:vso)?\[)/gi, codePointEscape);
}
