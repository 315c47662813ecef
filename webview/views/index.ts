import { cost } from './cost';
import { VIEW_IDS } from './ids';
import { ntp } from './ntp';
import { groups, logical, physical } from './pictures';
import { run } from './run';
import { sequence } from './sequence';
import { smoke } from './smoke';
import { table } from './table';
import { tradeoffs } from './tradeoffs';
import type { Scene, View } from './view';
import { world } from './world';

const BY_ID = { tradeoffs, physical, logical, groups, cost, sequence, ntp, world, smoke, run, table };

/** The views that have something to show, in the order in which they are offered. */
export const viewsOf = (scene: Scene): View[] =>
  VIEW_IDS.map((id) => BY_ID[id]).filter(({ available }) => available?.(scene) ?? true);

/** The view that is shown: the chosen one, or the first where the layout has nothing to show in that one. */
export const viewOf = (scene: Scene): View => {
  const chosen = BY_ID[scene.state.view];
  return chosen.available?.(scene) === false ? physical : chosen;
};
