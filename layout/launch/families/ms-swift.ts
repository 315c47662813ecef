import { DEFAULTS } from '../defaults';
import type { Found } from '../facts';
import { Facts } from '../facts';
import type { CommandFamily } from '../family';
import { readFlags } from '../flags';
import { environmentOption, type Job, textOf } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { integerOf, type Option } from '../options';
import { deriveFromWorld, setWorld } from '../world';
import { listUnmapped } from './megatron-lm';

const DIALECT: Dialect = { defaults: DEFAULTS.swift, switches: 'value', expertTpIsTp: false, modelElsewhere: true };

const COMMANDS = /^(sft|pt|rlhf|gkd|grpo)$/;

/** ms-swift's Megatron commands (`megatron sft`, `pt`, `rlhf`), with flags that take `true` and `false`. */
export const msSwift: CommandFamily = {
  name: 'ms-swift',
  matches: (job) => (isCommand(job) || /swift\/cli\/_megatron\/\w+\.py$/.test(job.script ?? '') ? 3 : 0),
  read(job) {
    const facts = new Facts();
    const args = job.script === null && job.program === 'megatron' ? job.args.slice(1) : job.args;
    const { options } = readFlags(args, job.place);
    readMegatron(options, DIALECT, facts);
    setWorld(facts, {
      nodes: environmentCount(job, 'NNODES', { value: 1, source: 'default' }),
      perNode: environmentCount(job, 'NPROC_PER_NODE', { unknown: 'environment variable NPROC_PER_NODE' }),
    });
    deriveFromWorld(facts);
    if (options.has('vllm_tensor_parallel_size')) {
      facts.set('phases.rollout.engine', { value: 'vllm', source: 'default' });
      facts.set('phases.rollout.tp', options.integer('vllm_tensor_parallel_size'));
    }
    listUnmapped(options, new Set([...MEGATRON_OPTIONS, 'vllm_tensor_parallel_size']), facts);
    return facts;
  },
};

function isCommand({ program, args }: Job): boolean {
  return program === 'megatron' && COMMANDS.test(textOf(args[0]) ?? '');
}

/** A count that the environment of a command gives. */
export function environmentCount(job: Job, name: string, otherwise: Found<number>): Found<number> {
  const option = environmentOption(job, name);
  return option ? countOf(option, name) : otherwise;
}

function countOf({ values, places, place, unknown }: Option, name: string): Found<number> {
  const value = integerOf(values[0] ?? null);
  return value === null ? { unknown: unknown ?? `the value of ${name}` } : { value, source: places[0] ?? place };
}
