import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { phaseFactorization } from './phase-factorization';

test('phase-factorization', () => {
  const said = reports(phaseFactorization, {
    'phases that share all ranks, or some': job(
      8,
      'tp: 2',
      'phases: {train: {tp: 2, pp: 2}, rollout: {rank_offset: 4, tp: 4}}',
    ),
    'a replica that does not divide the ranks': job(8, 'tp: 2', 'phases: {rollout: {tp: 3}}'),
    'experts that do not divide the ranks': job(8, 'tp: 2', 'phases: {train: {tp: 2, ep: 8}}'),
    'ranks beyond the world': job(8, 'tp: 2', 'phases: {rollout: {rank_offset: 4, num_ranks: 8}}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a replica that does not divide the ranks: error at "3": tp 3 does not divide 8 ranks. Use tp 1, 2 or 4 for phase 'rollout'.
      = suggestion: Change tp to 2: phases: {rollout: {tp: [-3-]{+2+}}}
      = suggestion: Change tp to 4: phases: {rollout: {tp: [-3-]{+4+}}}
      = suggestion: Change tp to 1: phases: {rollout: {tp: [-3-]{+1+}}}
    experts that do not divide the ranks: error at "8": expt_tp 2 x ep 8 = 16 ranks an expert replica, which does not divide 8. Use ep 1, 2 or 4 for phase 'train'.
      = suggestion: Change ep to 4: phases: {train: {tp: 2, ep: [-8-]{+4+}}}
      = suggestion: Change ep to 2: phases: {train: {tp: 2, ep: [-8-]{+2+}}}
      = suggestion: Change ep to 1: phases: {train: {tp: 2, ep: [-8-]{+1+}}}
    ranks beyond the world: error at "rollout": Phase 'rollout' ends at rank 12, beyond the world of 8. Use fewer ranks."
  `);
});
