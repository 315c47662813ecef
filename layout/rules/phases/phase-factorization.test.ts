import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { phaseFactorization } from './phase-factorization';

const said = (text: string) => report(phaseFactorization, text);

test('phases that share all ranks, or some', () => {
  expect(said(job(8, 'tp: 2', 'phases: {train: {tp: 2, pp: 2}, rollout: {rank_offset: 4, tp: 4}}'))).toBe('');
});

test('a replica that does not divide the ranks', () => {
  expect(said(job(8, 'tp: 2', 'phases: {rollout: {tp: 3}}'))).toMatchInlineSnapshot(`
    "error[phase-factorization] at "rollout"
    tp 3 does not divide 8 ranks. Use other degrees for phase rollout."
  `);
});

test('experts that do not divide the ranks', () => {
  expect(said(job(8, 'tp: 2', 'phases: {train: {tp: 2, ep: 8}}'))).toMatchInlineSnapshot(`
    "error[phase-factorization] at "train"
    expt_tp 2 x ep 8 = 16 ranks an expert replica, which does not divide 8. Use another ep for phase train."
  `);
});

test('ranks beyond the world', () => {
  expect(said(job(8, 'tp: 2', 'phases: {rollout: {rank_offset: 4, num_ranks: 8}}'))).toMatchInlineSnapshot(`
    "error[phase-factorization] at "rollout"
    Phase rollout ends at rank 12, beyond the world of 8. Use fewer ranks."
  `);
});
