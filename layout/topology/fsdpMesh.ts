import type { GroupFamily } from './groupFamily';
import { attempt, fail, type Raised, raise, repr } from './python';
import type { ResolvedLayout } from './resolved';

/** The sizes of a mesh; `outer` is 1 without hybrid sharding. */
interface Mesh {
  readonly outer: number;
  readonly fsdp: number;
  readonly ep: number;
  readonly tp: number;
}

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

function checkMesh(world: number, rank: number, groups: MeshGroups): void {
  const mesh: Mesh = { outer: groups.outer?.size ?? 1, fsdp: groups.fsdp.size, ep: groups.ep, tp: groups.tp.size };
  if (mesh.outer * mesh.fsdp * mesh.ep * mesh.tp !== world) {
    fail('EinopsError', 'shape mismatch');
  }
  const { outer, fsdp, ep, tp } = mesh;
  // rank of a place: ((outer * fsdp + f) * ep + e) * tp + t
  const at = (o: number, f: number, e: number, t: number) => ((o * fsdp + f) * ep + e) * tp + t;
  const seq = (length: number) => Array.from({ length }, (_, i) => i);
  const fsdpRows = groups.outer
    ? seq(outer).flatMap((o) => seq(ep).flatMap((e) => seq(tp).map((t) => seq(fsdp).map((f) => at(o, f, e, t)))))
    : seq(ep).flatMap((e) => seq(tp).map((t) => seq(fsdp).map((f) => at(0, f, e, t))));
  compare(rank, fsdpRows, groups.fsdp);
  compare(
    rank,
    seq(outer).flatMap((o) => seq(fsdp).flatMap((f) => seq(ep).map((e) => seq(tp).map((t) => at(o, f, e, t))))),
    groups.tp,
  );
  if (groups.outer) {
    compare(
      rank,
      seq(fsdp).flatMap((f) => seq(ep).flatMap((e) => seq(tp).map((t) => seq(outer).map((o) => at(o, f, e, t))))),
      groups.outer,
    );
  }
}

function compare(rank: number, rows: readonly (readonly number[])[], family: GroupFamily): void {
  const [index = 0] = family.indicesOf(rank);
  const members = [...family.ranks(index)].sort((a, b) => a - b);
  const row = [...(rows.find((ranks) => ranks.includes(rank)) ?? [])].sort((a, b) => a - b);
  if (row.length !== members.length || row.some((one, i) => one !== members[i])) {
    raise(
      'AssertionError',
      `[Megatron-FSDP] Current rank ${rank} in the mesh ranks ${repr(rows)} does not match the group ranks ${repr(members)}.`,
    );
  }
}
