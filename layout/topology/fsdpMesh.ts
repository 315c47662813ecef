import { Grid, type GridGroups } from '../grid/grid';
import type { GroupFamily } from './groupFamily';
import { attempt, fail, type Raised, raise, repr } from './python';
import type { ResolvedLayout } from './resolved';

/**
 * The error of Megatron-FSDP when its device mesh does not match the process groups, or null: every rank compares the rows of the
 * mesh that hold it with its groups; the error quotes the lowest rank that differs (`_get_dp_tp_mesh`,
 * `_get_hsdp_tp_mesh` in megatron/core/distributed/fsdp/mcore_fsdp_adapter.py). Costs O(ranks x row) and is meant for worlds
 * whose ranks a message can name.
 */
export function meshError(layout: ResolvedLayout, families: readonly GroupFamily[]): Raised | null {
  const isHybrid = layout.optimizerInstances > 1;
  const family = (name: string) => families.find((one) => one.name === name);
  const dense = { tp: family('tp'), fsdp: family(isHybrid ? 'intra_dp_cp' : 'dp_cp'), ep: 1 };
  const expert = {
    tp: family('ep_tp'),
    fsdp: family(isHybrid ? 'intra_ep_dp' : 'ep_dp'),
    ep: family('ep')?.size ?? 1,
  };
  const outer = isHybrid ? family('inter_ep_dp') : undefined;
  for (let rank = 0; rank < layout.worldSize; rank++) {
    for (const { tp, fsdp, ep } of layout.fsdpMesh?.experts ? [expert, dense] : [dense]) {
      const result = attempt(() => {
        if (tp && fsdp) {
          checkMesh(layout.worldSize, rank, { tp, fsdp, outer, ep });
        }
      });
      if (!result.ok) {
        return result.error;
      }
    }
  }
  return null;
}

interface MeshGroups {
  readonly tp: GroupFamily;
  readonly fsdp: GroupFamily;
  readonly outer: GroupFamily | undefined;
  readonly ep: number;
}

/** The rows of the mesh along each dimension, `outer` only with hybrid sharding, are the groups of one family. */
function checkMesh(world: number, rank: number, { tp, fsdp, outer, ep }: MeshGroups): void {
  const mesh = new Grid([
    { name: 'tp', size: tp.size },
    { name: 'ep', size: ep },
    { name: 'fsdp', size: fsdp.size },
    { name: 'outer', size: outer?.size ?? 1 },
  ]);
  if (mesh.size !== world) {
    fail('EinopsError', 'shape mismatch');
  }
  compare(rank, mesh.groups(['fsdp']), fsdp);
  compare(rank, mesh.groups(['tp']), tp);
  if (outer) {
    compare(rank, mesh.groups(['outer']), outer);
  }
}

function compare(rank: number, rows: GridGroups, family: GroupFamily): void {
  const [index = 0] = family.indicesOf(rank);
  const members = family.ranks(index).toSorted((a, b) => a - b);
  const row = rows.ranks(rows.groupOf(rank));
  if (row.length !== members.length || row.some((one, i) => one !== members[i])) {
    const all = Array.from(rows.all(), (ranks) => [...ranks]);
    raise(
      'AssertionError',
      `[Megatron-FSDP] Current rank ${rank} in the mesh ranks ${repr(all)} does not match the group ranks ${repr(members)}.`,
    );
  }
}
