import type { Framework } from './framework';
import { FRAMEWORKS } from './index';

/** Rules about what a file says, and about machines and files beside it: they hold whatever starts the job. */
export const RULES_OF_ANY_JOB: readonly string[] = [
  ...['not-positive', 'conflicting-keys', 'yaml-syntax', 'file-too-large', 'unused-ignore', 'name-disagrees'],
  ...['world-cluster-mismatch', 'launch-drift', 'memory-over', 'unknown-gpu', 'device-connections'],
  ...['tp-crosses-nvlink', 'ep-crosses-node', 'cp-crosses-node'],
  ...['phase-factorization', 'phase-model', 'phase-overlap', 'phase-crosses-nvlink'],
  ...['rollout-gpus', 'rollout-length', 'weight-sync'],
];

/** Rules that read what only Megatron-LM's argument parser checks (megatron/training/arguments.py, validate_args). */
const OF_THE_PARSER = ['batch-schedule', 'optimizer-offload', 'optimizer-overlap'];

/** The rules of frameworks: each holds only where a framework lists it. */
const OF_FRAMEWORKS: ReadonlySet<string> = new Set(FRAMEWORKS.flatMap(({ rules }) => rules.own));

/** Whether a rule holds for some frameworks only, and has their words. */
export function isOwnRule(code: string): boolean {
  return OF_FRAMEWORKS.has(code);
}

/**
 * Whether a rule holds for the layouts of a framework.
 * @param code the code of the rule
 * @param framework null for Megatron-LM's own training script
 */
export function holds(code: string, framework: Framework | null): boolean {
  if (OF_FRAMEWORKS.has(code)) {
    return framework?.rules.own.includes(code) ?? false;
  }
  const { megatron = 'script', except = [], also = [] } = framework?.rules ?? {};
  if (except.includes(code)) {
    return false;
  }
  if (also.includes(code)) {
    return true;
  }
  return megatron === 'none' ? RULES_OF_ANY_JOB.includes(code) : megatron === 'script' || !OF_THE_PARSER.includes(code);
}
