import { expect, test } from 'vitest';
import { check, type Entry, entriesIn, unsafeCharactersIn } from '../../layout';
import { codeActions } from './codeActions';
import { codeLenses } from './codeLens';
import { completion } from './completion';
import { diagnosticsOf } from './diagnostics';
import { documentLinks } from './documentLinks';
import { documentSymbols } from './documentSymbols';
import { hover } from './hover';
import { inlayHints } from './inlayHints';

const URI = 'file:///a.layout.yaml';

const LAYOUT = `layout: 1
name: a
world_size: 16
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
modules:
  language: {tp: 2, num_ranks: 8, model: {num_layers: 8, hidden_size: 4096}}
  images: {tp: 2, num_ranks: 8, rank_offset: 8}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 1}
launch: {family: megatron-lm, files: [train.sh]}
smoke: {checks: [groups]}
`;

/** What a person reads of an answer: its texts, without those that an edit would write, and addresses. */
const SHOWN = new Set([
  'name',
  'detail',
  'title',
  'label',
  'message',
  'value',
  'tooltip',
  'documentation',
  'description',
]);

function shownTexts(answer: unknown, key = ''): string[] {
  return typeof answer === 'string'
    ? SHOWN.has(key) && unsafeCharactersIn(answer.replaceAll('\n', '')).length > 0
      ? [answer]
      : []
    : Object.entries(Object(answer)).flatMap(([inner, value]) =>
        // a list's items count as what the list is
        shownTexts(value, Array.isArray(answer) ? key : inner),
      );
}

const entriesBelow = (entries: readonly Entry[]): Entry[] =>
  entries.flatMap((entry) => [entry, ...entriesBelow(entriesIn(entry.value))]);

test.each([
  ['turns the direction of text', '"\u202egpj"'],
  ['is invisible', '"\u200b\u{e0041}\u00ad"'],
  ['a terminal obeys', '"\\x1b]52;c;x\\x07\\x9b"'],
  ['breaks a line', '"a\\n\\rb"'],
])('no feature shows what %s, whichever key or value of a file holds it', (_, attack) => {
  const { root } = check(LAYOUT).read.tree;
  const spans = entriesBelow(root ? entriesIn(root) : []).flatMap(({ keySpan, value }) => [keySpan, value.span]);
  expect(spans.length).toBeGreaterThan(50);
  const shown = spans.flatMap(({ start, end }) => {
    const text = LAYOUT.slice(0, start) + attack + LAYOUT.slice(end);
    const checked = check(text);
    const { lines } = checked;
    const whole = { start: { line: 0, character: 0 }, end: lines.positionAt(text.length) };
    return shownTexts([
      diagnosticsOf(URI, checked),
      codeActions(URI, checked, whole),
      codeLenses(URI, checked, { showGrid: 'grid', runSmokeJob: 'smoke', addModel: 'add' }),
      documentLinks(checked),
      documentSymbols(checked),
      inlayHints(checked, whole),
      hover(checked, start + 1),
      completion(checked, lines.positionAt(start + attack.length)),
    ]);
  });
  expect(shown).toEqual([]);
});
