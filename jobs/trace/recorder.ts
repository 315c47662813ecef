import { readJson } from './jsonText';
import { dictOf, intOf, listOf, textOf } from './value';

/** A file of the recorder (smoke/record_groups.py): a line about the rank, then one a group. */
export interface Recording {
  readonly rank: number;
  readonly worldSize: number | null;
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

/** Reads a file of the recorder; null where its first line cannot be read. */
export function readRecording(text: string): Recording | null {
  const lines = text.split('\n').filter((line) => line !== '');
  const parsed = lines.map((line) => ({ ...readJson(line) }));
  const head = dictOf(parsed[0]?.value);
  const rank = intOf(head?.get('rank'));
  if (!head || rank === undefined) {
    return null;
  }
  const groups = parsed.slice(1).flatMap(({ value, problem }) => {
    const dict = dictOf(value);
    const ranks = listOf(dict?.get('ranks')).flatMap((member) => intOf(member) ?? []);
    // an incomplete line may lack ranks at the end
    return dict && problem === null && ranks.length > 0
      ? [{ name: textOf(dict.get('name')) ?? '', desc: textOf(dict.get('desc')) ?? '', ranks }]
      : [];
  });
  return {
    rank,
    worldSize: intOf(head.get('world_size')) ?? null,
    host: textOf(head.get('host')) ?? null,
    pid: intOf(head.get('pid')) ?? null,
    gpu: intOf(head.get('gpu')) ?? null,
    groups,
    problem: parsed.find((line) => line.problem !== null)?.problem ?? null,
  };
}
