import { type SemanticTokens, SemanticTokensBuilder, type SemanticTokensLegend } from 'vscode-languageserver';
import {
  type Checked,
  childrenOf,
  commentsOf,
  type Entry,
  entriesIn,
  type KeySpec,
  type Node,
  type Range,
  type Span,
  specAt,
} from '../../layout';
import { feature } from './feature';

/** What the numbers of the semantic tokens mean. */
const TOKENS_LEGEND = {
  tokenTypes: ['property', 'class', 'number', 'string', 'keyword', 'enumMember', 'comment'],
  tokenModifiers: ['declaration', 'readonly'],
} as const satisfies SemanticTokensLegend;

export const semanticTokenFeature = feature(
  { semanticTokensProvider: { legend: TOKENS_LEGEND, full: true, range: true } },
  ({ connection, checked }) => {
    connection.languages.semanticTokens.on(({ textDocument }) => semanticTokens(checked(textDocument.uri)));
    connection.languages.semanticTokens.onRange(({ textDocument, range }) =>
      semanticTokens(checked(textDocument.uri), range),
    );
  },
);

type TokenType = (typeof TOKENS_LEGEND.tokenTypes)[number];

/** The bits of a token: the name of a module is declared where it stands, a derived size is not the author's choice. */
const DECLARATION = 1;
const READONLY = 2;

interface Token {
  readonly span: Span;
  readonly type: TokenType;
  readonly modifiers: number;
}

/**
 * What each word of a file is, as the format knows it: keys that it has, names of modules, options, numbers. A key that it
 * has not stays plain, and so can be told from the others.
 * @param range the lines that are wanted; left out, all
 */
export function semanticTokens(checked: Checked, range?: Range): SemanticTokens {
  const { lines, read } = checked;
  const start = range ? lines.offsetAt(range.start) : 0;
  const end = range ? lines.offsetAt(range.end) : checked.text.length;
  const isWanted = ({ span }: Token) => span.end >= start && span.start <= end;
  const tokens = [...(read.tree.root ? nodeTokens(read.tree.root, undefined, []) : []), ...commentTokens(checked)];
  tokens.sort((a, b) => a.span.start - b.span.start);
  const builder = new SemanticTokensBuilder();
  for (const token of tokens.filter(isWanted)) {
    const from = lines.positionAt(token.span.start);
    const to = lines.positionAt(token.span.end);
    // a token lies on one line
    if (from.line === to.line && to.character > from.character) {
      builder.push(
        from.line,
        from.character,
        to.character - from.character,
        TOKENS_LEGEND.tokenTypes.indexOf(token.type),
        token.modifiers,
      );
    }
  }
  return builder.build();
}

function* nodeTokens(node: Node, spec: KeySpec | undefined, path: readonly string[]): Iterable<Token> {
  if (node.kind === 'scalar') {
    if (spec && !node.source.startsWith('*')) {
      yield { span: node.span, type: valueType(node.value, spec), modifiers: 0 };
    }
    return;
  }
  for (const entry of entriesIn(node)) {
    yield* entryTokens(entry, [...path, entry.key]);
  }
  if (node.kind === 'list') {
    for (const item of childrenOf(node)) {
      yield* nodeTokens(item, spec?.type === 'list' ? spec.items : spec, path);
    }
  }
}

function* entryTokens({ key, keySpan, value }: Entry, path: readonly string[]): Iterable<Token> {
  const spec = specAt(path);
  if (spec) {
    const isModule = path.length === 2 && path[0] === 'modules';
    const isDerived = key === 'dp' || key === 'expt_dp';
    yield {
      span: keySpan,
      type: isModule ? 'class' : 'property',
      modifiers: isModule ? DECLARATION : isDerived ? READONLY : 0,
    };
  }
  yield* nodeTokens(value, spec, path);
}

function valueType(value: unknown, spec: KeySpec): TokenType {
  if (typeof value === 'number' || typeof value === 'bigint') {
    return 'number';
  }
  if (typeof value === 'boolean' || value === null) {
    return 'keyword';
  }
  switch (spec.type) {
    case 'enum':
      return 'enumMember';
    case 'size':
    case 'duration':
      return 'number';
    default:
      return 'string';
  }
}

function commentTokens(checked: Checked): Token[] {
  return commentsOf(checked.text, checked.lines, checked.read.tree.root).map((span) => ({
    span,
    type: 'comment',
    modifiers: 0,
  }));
}
