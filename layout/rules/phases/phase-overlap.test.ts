import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { phaseOverlap } from './phase-overlap';

const phases = (inside: string) => job(8, 'tp: 2', `phases: {${inside}}`);

test('phase-overlap', () => {
  const said = reports(phaseOverlap, {
    'all ranks in turn': phases('train: {tp: 2}, rollout: {tp: 4}'),
    'side by side': phases('train: {num_ranks: 4, tp: 2}, rollout: {rank_offset: 4, tp: 4}'),
    'one on some ranks of the other': phases('train: {tp: 2}, rollout: {rank_offset: 4, tp: 4}'),
    'ranks beyond the world are of another rule': phases(
      'train: {num_ranks: 6, tp: 2}, rollout: {rank_offset: 4, tp: 2}',
    ).replace('rank_offset: 4', 'rank_offset: 6'),
    'spans that cross': phases('train: {num_ranks: 6, tp: 2}, rollout: {rank_offset: 4, tp: 4}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "spans that cross: error at "rollout": Phases 'train' (ranks 0 to 5) and 'rollout' (ranks 4 to 7) share ranks 4 to 5 only. Give both the same ranks, or start 'rollout' at rank 6.
      = at "train": 'train' is here"
  `);
});
