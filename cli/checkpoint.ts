import {
  type CheckpointVerdict,
  markdownText,
  OUTCOME_WORDS,
  PART_NAMES,
  type PartVerdict,
  type ResolvedLayout,
  ShardMap,
  terminalLine,
} from '../layout';
import { checkpointTitle, transferSentences } from '../picture/checkpoint';

/** What of a checkpoint loads, as text: a part a paragraph, with the framework's words and the ways out. */
export function* checkpointText(verdicts: readonly CheckpointVerdict[]): Iterable<string> {
  for (const verdict of verdicts) {
    yield `Checkpoint (${terminalLine(checkpointTitle(verdict))}):\n`;
    for (const part of verdict.parts) {
      const [first, ...rest] = linesOf(part);
      yield `  ${PART_NAMES[part.part].padEnd(WIDTH)}  ${terminalLine(first ?? '')}\n`;
      yield* rest.map((line) => `  ${' '.repeat(WIDTH)}  ${terminalLine(line)}\n`);
    }
    const sentences = transferSentences(verdict);
    yield* sentences.map((line, i) => `  ${(i === 0 ? 'to load' : '').padEnd(WIDTH)}  ${terminalLine(line)}\n`);
  }
}

const WIDTH = Math.max(...Object.values(PART_NAMES).map(({ length }) => length));

function linesOf({ because, predicts, ways, proof, source }: PartVerdict): string[] {
  return [
    because,
    ...(predicts ? [`It says: "${predicts}"`] : []),
    ...ways.flatMap(({ what, command }) => [`- ${what}`, `    ${command}`]),
    ...(source === '' ? [] : [`Source: ${source}${proof === 'run' ? '; such pairs were run' : ''}`]),
  ];
}

/** The same as a table of Markdown. */
export function* checkpointMarkdown(verdicts: readonly CheckpointVerdict[]): Iterable<string> {
  for (const verdict of verdicts) {
    yield `Checkpoint (${markdownText(checkpointTitle(verdict))}):\n\n| part | | why | way out |\n| --- | --- | --- | --- |\n`;
    for (const { part, outcome, because, ways } of verdict.parts) {
      const out = ways.map(({ what, command }) => `${what} ${command}`).join(' ');
      const cells = [PART_NAMES[part], OUTCOME_WORDS[outcome], because, out].map((text) => markdownText(text));
      yield `| ${cells.join(' | ')} |\n`;
    }
    yield `\n${transferSentences(verdict).map(markdownText).join(' ')}\n`;
  }
}

/**
 * The same as the field `checkpoint` of the JSON output.
 * @param layouts the one that saved and the one that loads: who reads from whom is said of them; null leaves it out
 */
export function checkpointJson(
  verdict: CheckpointVerdict,
  layouts: readonly [before: ResolvedLayout, after: ResolvedLayout] | null,
) {
  const { module, format, sharding, parts, transfer } = verdict;
  return {
    module,
    format,
    optimizer_sharding: sharding,
    parts,
    transfer: transfer && {
      weights_bytes: transfer.weightsBytes,
      states_bytes: transfer.statesBytes,
      stages: transfer.stages.map((stage) => ({
        weights_bytes: stage.weightsBytes,
        states_bytes: stage.statesBytes,
      })),
      rank_bytes: transfer.perRankBytes,
      all_ranks_bytes: transfer.allRanksBytes,
      network_bytes_per_second: transfer.bytesPerSecond,
      network_is_measured: transfer.isMeasured,
      seconds: transfer.seconds,
      node_memory_bytes: transfer.nodeBytes,
      converter_memory_bytes: transfer.converterBytes,
    },
    ...(layouts && { readers: readersOf(verdict, layouts) }),
  };
}

/** The most ranks whose sources are listed. */
const MAX_READERS = 65_536;

/** Of each rank that loads the ranks that saved what it reads; null where that is not known, or too much to list. */
function readersOf({ module, shards }: CheckpointVerdict, layouts: readonly [ResolvedLayout, ResolvedLayout]) {
  const [before, after] = layouts.map(({ modules }) => modules.find(({ name }) => name === module));
  if (!shards || !before || !after || after.numRanks > MAX_READERS) {
    return null;
  }
  const map = new ShardMap(before, after, shards);
  return Array.from({ length: after.numRanks }, (_, i) => {
    const rank = after.rankOffset + i;
    return { rank, reads_from: map.sourcesOf(rank) };
  });
}
