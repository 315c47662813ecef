import { readJson } from './jsonText';
import { type Dict, dictOf, intOf, listOf, textOf } from './value';

/** A file of the recorder (smoke/record_groups.py): a line about the rank, then one a group. */
export interface Recording {
  readonly rank: number;
  readonly host: string | null;
  readonly pid: number | null;
  readonly gpu: number | null;
  readonly groups: readonly { readonly name: string; readonly desc: string; readonly ranks: readonly number[] }[];
  /** Why a part is missing; null for a whole file. */
  readonly problem: string | null;
}

/** Whether a text is a file of the recorder. */
export function looksLikeRecording(text: string): boolean {
  return /^\{"recorder": ?\d/.test(text);
}

/** The most groups that are kept. */
const MAX_GROUPS = 1024 * 1024;

/** Reads a file of the recorder; null where its first line cannot be read. */
export function readRecording(text: string): Recording | null {
  let head: Dict | undefined;
  let problem: string | null = null;
  const groups: Recording['groups'][number][] = [];
  for (const [line] of text.matchAll(/[^\n]+/g)) {
    const read = readJson(line);
    const dict = dictOf(read.value);
    problem ??= read.problem;
    if (!head) {
      head = dict;
      if (intOf(head?.get('rank')) === undefined) {
        return null;
      }
      continue;
    }
    const ranks = listOf(dict?.get('ranks')).flatMap((member) => intOf(member) ?? []);
    // an incomplete line may lack ranks at the end
    if (dict && read.problem === null && ranks.length > 0 && groups.length < MAX_GROUPS) {
      groups.push({ name: textOf(dict.get('name')) ?? '', desc: textOf(dict.get('desc')) ?? '', ranks });
    }
  }
  const rank = intOf(head?.get('rank'));
  return rank === undefined
    ? null
    : {
        rank,
        host: textOf(head?.get('host')) ?? null,
        pid: intOf(head?.get('pid')) ?? null,
        gpu: intOf(head?.get('gpu')) ?? null,
        groups,
        problem: groups.length < MAX_GROUPS ? problem : `holds more than ${MAX_GROUPS} groups`,
      };
}
