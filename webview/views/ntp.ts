import {
  countOf,
  grouped,
  isPacked,
  type ReshardSplits,
  type ResolvedNtp,
  reshardSplits,
  spareCount,
} from '../../layout';
import { hasRoles, ntpShape } from '../../picture/roles';
import { h, tableOf } from '../panel/dom';
import type { PanelShards } from '../panel/messages';
import { drawn } from './pictures';
import type { Scene, View } from './view';

/** Matrices of more slots than this say nothing to an eye. */
const MAX_SLOTS = 32;

/** What nonuniform TP makes of the replicas, and what healthy ones send each other to match the reduced ones. */
export const ntp: View = {
  id: 'ntp',
  label: 'Failures',
  question: 'What do failures cost?',
  available: ({ layout }) => hasRoles(layout),
  ...drawn('ntp'),
  content: (scene) => (scene.layout.ntp ? sheet(scene, scene.layout.ntp) : null),
};

function sheet({ layout, shards }: Scene, ntp: ResolvedNtp): HTMLElement {
  const shape = ntpShape(layout);
  const reduced = Math.min(ntp.numReducedTpDpRanks, shape.dp);
  const active = ntp.tpBase - ntp.tpSpares;
  const spares = spareCount(ntp, shape);
  const replicas = reduced === 1 ? 'Replica dp 0 runs' : `Replicas dp 0 to ${reduced - 1} run`;
  const leave = isPacked(ntp)
    ? `${countOf(spares, 'place')} of the grid are not launched: ranks are numbered without them.`
    : `${countOf(spares, 'rank')} leave the job once the groups are made.`;
  const facts =
    ntp.tpSpares === 0 ? 'No slot is given up.' : `${replicas} ${active} of ${ntp.tpBase} TP slots. ${leave}`;
  return h(
    'div',
    { class: 'below' },
    h('p', {}, facts),
    ...(ntp.tpSpares === 0 || reduced >= shape.dp ? [] : reshard(ntp, shards)),
  );
}

function reshard(ntp: ResolvedNtp, shards: readonly PanelShards[]): HTMLElement[] {
  const why = h(
    'p',
    { class: 'hint' },
    'Before gradients are reduced, each healthy replica folds the shards of its last slots onto those that the reduced ones have; afterwards they travel back.',
  );
  if (ntp.tpBase > MAX_SLOTS) {
    return [
      why,
      h('p', { class: 'hint' }, `The splits of ${grouped(ntp.tpBase)} slots are printed by parallelism-layout ntp.`),
    ];
  }
  const tables = shards.flatMap(({ name, units }) => {
    const splits = units % ntp.tpBase === 0 ? reshardSplits(ntp.tpBase, ntp.tpSpares, units, units / ntp.tpBase) : null;
    return splits ? [splitTables(name, units, splits)] : [];
  });
  const none = h(
    'p',
    { class: 'hint' },
    'With model.num_attention_heads or model.ffn_hidden_size in the file, the splits are shown here.',
  );
  return [why, ...(tables.length > 0 ? tables : [none])];
}

function splitTables(name: string, units: number, { send, recv }: ReshardSplits): HTMLElement {
  return h(
    'section',
    { class: 'splits' },
    h('h3', {}, `${grouped(units)} ${name}`),
    h(
      'div',
      { class: 'pair' },
      matrix('Send splits', 'from slot', 'to slot', send),
      matrix('Receive splits', 'at slot', 'from slot', recv),
    ),
  );
}

/** How many units go from each slot to each other one; the darker, the more. */
function matrix(
  caption: string,
  rowName: string,
  columnName: string,
  splits: readonly (readonly number[])[],
): HTMLElement {
  const most = Math.max(1, ...splits.flat());
  const rows = splits.map((row, slot) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, String(slot)),
      ...row.map((units) => {
        const cell = h('td', { class: units > 0 ? 'some' : 'none' }, units > 0 ? grouped(units) : '·');
        cell.style.setProperty('--share', String(units / most));
        return cell;
      }),
    ),
  );
  const columns = [`${rowName} \\ ${columnName}`, ...splits.map((_, slot) => String(slot))];
  const table = tableOf(columns, rows, { class: 'matrix' });
  table.prepend(h('caption', {}, caption));
  return table;
}
