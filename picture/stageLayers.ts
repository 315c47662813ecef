import { type LayoutFacts, stagePlans } from '../layout';

/** The layers that each pipeline stage of a grid holds, in words; by stage. */
export interface StageLayers {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  readonly stages: readonly string[];
}

/** More stages than this are not described. */
const MAX_STAGES = 4096;

/** What every pipeline stage of a layout holds, where the file says how many layers there are: `layers 0 – 7`. */
export function stageLayers(facts: LayoutFacts): StageLayers[] {
  return stagePlans(facts).flatMap(({ module, stages }) => {
    const all = stages() ?? [];
    const count = Math.max(0, ...all.map(({ pp }) => pp + 1));
    if (count < 2 || count > MAX_STAGES) {
      return [];
    }
    const byStage: string[][] = Array.from({ length: count }, () => []);
    for (const { pp, layers } of all) {
      byStage[pp]?.push(...layers);
    }
    return [{ module: module.name, stages: byStage.map(layersText) }];
  });
}

/** `embedding`, `t0`, ..., `t7` as `layers 0 – 7`; what is no decoder layer is left to the reader's knowledge of the ends. */
function layersText(layers: readonly string[]): string {
  const numbers = layers.flatMap((layer) => (/^t\d+$/.test(layer) ? Number(layer.slice(1)) : []));
  const runs: string[] = [];
  let start = 0;
  for (let i = 1; i <= numbers.length; i++) {
    if (numbers[i] !== (numbers[i - 1] ?? 0) + 1) {
      const [first = 0, last = 0] = [numbers[start], numbers[i - 1]];
      runs.push(first === last ? String(first) : `${first} – ${last}`);
      start = i;
    }
  }
  const mtp = layers.some((layer) => layer.startsWith('mtp')) ? ' + MTP' : '';
  if (runs.length === 0) {
    return `no decoder layer${mtp}`;
  }
  return `${numbers.length === 1 ? 'layer' : 'layers'} ${runs.join(', ')}${mtp}`;
}
