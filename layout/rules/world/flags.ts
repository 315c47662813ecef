import { repr } from '../../topology/python';
import { type ModuleSpan, overlaps } from './spans';

/** Longer lists of ranks are not written out: nobody reads them, and a keystroke must not pay for them. */
const MAX_LISTED = 4096;

/** `[0, 1, 2]` as Python prints a list of ranks, or null where it is too long. */
function pythonRanks(spans: readonly { readonly start: number; readonly end: number }[]): string | null {
  const count = spans.reduce((n, { start, end }) => n + end - start, 0);
  return count <= MAX_LISTED
    ? repr(spans.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i)))
    : null;
}

/** What `validate_hetero_grid_args` in examples/mimo/training/args.py says of modules that share ranks. */
export function flagsOverlapPrediction(start: number, end: number): string | null {
  const shared = pythonRanks([{ start, end }]);
  return shared && `hetero MIMO expects disjoint module rank spans; spans overlap at ${shared}`;
}

/** What it says of ranks that no module has, or that do not exist; shared ranks come first. */
export function flagsCoverPrediction(placed: readonly ModuleSpan[], world: number): string | null {
  const [one, other] = placed;
  if (one && other && overlaps(one, other)) {
    return flagsOverlapPrediction(Math.max(one.start, other.start), Math.min(one.end, other.end));
  }
  const covered = pythonRanks([...placed].sort((a, b) => a.start - b.start));
  const all = pythonRanks([{ start: 0, end: world }]);
  if (!covered || !all) {
    return null;
  }
  const [only] = placed;
  if (placed.length > 1 || !only) {
    return `The non-colocated module grids must cover every torchrun rank exactly once; covered=${covered}, world=${all}`;
  }
  return only.start === 0
    ? `--llm-only requires the language grid to cover every torchrun rank exactly once; covered=${covered}, world=${all}`
    : '--llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE';
}
