import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { applyEdits, check, LineIndex } from '../../layout';
import { diagnosticsOf } from '../../server/features/diagnostics';
import { VIEW_TEXT } from '../../server/messages';
import { ServerProcess } from '../protocol/client';

/*
 * Random edits against the running server. After each burst it must answer, its text must equal the client's, and its
 * findings must be those of a fresh look at the same text.
 */

export interface FuzzResult {
  readonly edits: number;
  readonly bursts: number;
  /** Resident memory of the server in MiB, after a tenth of the edits and at the end. */
  readonly memory: readonly [number, number];
}

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What is typed: YAML's marks, halves of surrogate pairs, line ends of all kinds, pieces of layouts. */
const SCRAPS = [
  ...['{', '}', '[', ']', ':', ': ', '- ', '#', '"', "'", ',', '|', '>', '?', '&a ', '*a', '!!x ', '%', '---\n', '\t'],
  ...['\n', '\r\n', '\r', '\n  ', '\n    ', ' ', '0', '1', '8', '-1', '1e9', '99999999999999999999'],
  ...['\u{1f600}', '\ud83d', '\ude00', '\ufeff', '\u2028', '\u0000', '\ufffd', 'é'],
  ...['tp: 2\n', 'pp: 4\n', 'parallelism:\n', 'modules:\n', '  language:\n', '    num_ranks: 8\n', '<<: *a\n'],
  ...['order: tp-cp-ep-dp-pp\n', 'ntp: {tp_spares: 1}\n', 'smoke: {checks: [groups]}\n', 'layout: 1\n'],
];

/** What is asked in the middle of it all, as an editor does. */
const REQUESTS = [
  'textDocument/hover',
  'textDocument/completion',
  'textDocument/documentSymbol',
  'textDocument/foldingRange',
  'textDocument/semanticTokens/full',
  'textDocument/codeLens',
  'textDocument/formatting',
];

const MAX_LENGTH = 6000;

/** A heap in which nothing can pile up: the collector keeps it small, and a leak ends the server. */
const SMALL_HEAP = ['--max-old-space-size=64', '--max-semi-space-size=2'];

/** A change of a range as an editor sends it: no position lies between the two halves of a line end. */
function sentChange(text: string, start: number, end: number, newText: string): { sent: object; after: string } {
  const lines = new LineIndex(text);
  const range = lines.rangeOf({ start, end });
  const span = { start: lines.offsetAt(range.start), end: lines.offsetAt(range.end) };
  return { sent: { range, text: newText }, after: applyEdits(text, [{ span, newText }]) };
}

/** Resident memory of a process in MiB; 0 where the platform does not tell. */
function residentMemory(pid: number | undefined): number {
  const status = `/proc/${pid}/status`;
  const [, kib = '0'] = (existsSync(status) && /^VmRSS:\s+(\d+)/m.exec(readFileSync(status, 'utf8'))) || [];
  return Math.round(Number(kib) / 1024);
}

/** @throws Error with the seed and the text where the server is wrong */
export async function fuzz(edits: number, seed: number): Promise<FuzzResult> {
  const random = randomOf(seed);
  const upTo = (n: number) => Math.floor(random() * n);
  const seeds = readdirSync('examples')
    .filter((name) => name.endsWith('.layout.yaml'))
    .map((name) => readFileSync(`examples/${name}`, 'utf8'));
  const server = await ServerProcess.start({}, {}, [], undefined, SMALL_HEAP);
  const newcomer = await ServerProcess.start();
  const uri = 'file:///fuzz.layout.yaml';
  let text = seeds[0] ?? '';
  await server.open(uri, text);
  let done = 0;
  let bursts = 0;
  let early = 0;
  while (done < edits) {
    let version = 0;
    for (let left = 1 + upTo(40); left > 0; left--) {
      const change = nextChange(text);
      text = change.after;
      version = await server.change(uri, change.sent);
      done++;
    }
    await verify(version);
    bursts++;
    if (early === 0 && done >= edits / 10) {
      early = residentMemory(server.process.pid);
    }
  }
  const memory = [early, residentMemory(server.process.pid)] as const;
  if ((await server.stop()) !== 0 || (await newcomer.stop()) !== 0) {
    throw new Error('a server did not end as asked');
  }
  return { edits: done, bursts, memory };

  function nextChange(before: string): { sent: object; after: string } {
    if (before.length > MAX_LENGTH || random() < 0.005) {
      const whole = seeds[upTo(seeds.length)] ?? '';
      return { sent: { text: whole }, after: whole };
    }
    const start = upTo(before.length + 1);
    const end = random() < 0.5 ? start : Math.min(before.length, start + upTo(random() < 0.1 ? 200 : 6));
    const newText = random() < 0.25 ? '' : (SCRAPS[upTo(SCRAPS.length)] ?? '');
    return sentChange(before, start, end, newText);
  }

  /** A server that has seen none of the edits is told the text as it stands. */
  async function newcomersFindings(): Promise<string> {
    const { uri: other } = await newcomer.openMarked(text, '\0no cursor\0');
    const found = await newcomer.diagnostics(other);
    await newcomer.connection.sendNotification('textDocument/didClose', { textDocument: { uri: other } });
    newcomer.forgetPublished();
    return JSON.stringify(found).replaceAll(other, uri);
  }

  async function verify(version: number): Promise<void> {
    const position = new LineIndex(text).positionAt(upTo(text.length + 1));
    const asked = server.request(REQUESTS[upTo(REQUESTS.length)] ?? '', {
      textDocument: { uri },
      position,
      options: { tabSize: 2, insertSpaces: true },
    });
    const found = await server.diagnostics(uri, version);
    await asked;
    server.forgetPublished();
    const theirs = JSON.stringify(found);
    const fresh = JSON.stringify(diagnosticsOf(uri, check(text)));
    if (theirs !== fresh) {
      throw new Error(`seed ${seed}, edit ${done}: findings differ\n${JSON.stringify(text)}\n${theirs}\n${fresh}`);
    }
    if (bursts % 100 === 0 && theirs !== (await newcomersFindings())) {
      throw new Error(`seed ${seed}, edit ${done}: a new server finds something else\n${JSON.stringify(text)}`);
    }
    const end = await server.request<string | null>(VIEW_TEXT, { uri });
    if (end !== text) {
      throw new Error(`seed ${seed}, edit ${done}: the texts differ\n${JSON.stringify(text)}\n${JSON.stringify(end)}`);
    }
  }
}
