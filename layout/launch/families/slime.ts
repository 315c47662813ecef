import { DEFAULTS, worldByDefault } from '../defaults';
import type { CommandFamily } from '../family';
import { readFlags } from '../flags';
import { derived, Facts } from '../foundValues';
import { type Dialect, MEGATRON_OPTIONS, MEGATRON_SWITCHES, readMegatron } from '../megatron';
import type { Options } from '../options';
import { deriveFromWorld, deriveGlobalBatch, setWorld } from '../world';
import { hasFlag, listUnmapped } from './megatron-lm';
import { engineOptions, readEngine } from './serving';

const DIALECT: Dialect = { defaults: DEFAULTS.slime, switches: 'bare', expertTpIsTp: true };

const OWN = [
  ...[
    'hf_checkpoint',
    'actor_num_nodes',
    'actor_num_gpus_per_node',
    'rollout_num_gpus',
    'rollout_num_gpus_per_engine',
    'colocate',
  ],
  ...engineOptions('sglang_'),
];

/** Flags by which a command is one of slime's. */
const SIGNS = [
  ...['--actor-num-nodes', '--actor-num-gpus-per-node', '--colocate', '--num-rollout', '--rollout-batch-size'],
  ...['--rollout-num-gpus', '--rollout-num-gpus-per-engine', '--rollout-max-response-len'],
];

/** slime: Megatron-LM's flags for the trainer, SGLang engines for the rollout (slime/utils/arguments.py). */
export const slime: CommandFamily = {
  name: 'slime',
  matches: (job) => (job.program === 'python' && hasFlag(job, ...SIGNS) ? 3 : 0),
  read(job) {
    const facts = new Facts();
    const { options } = readFlags(job.args, job.place, { switches: new Set([...MEGATRON_SWITCHES, 'colocate']) });
    readMegatron(options, DIALECT, facts);
    facts.set('model.from', options.has('hf_checkpoint') ? options.string('hf_checkpoint') : undefined);
    // forced, whatever the flags say (slime/backends/megatron_utils/arguments.py)
    facts.set('optimizer.use_distributed_optimizer', { value: true, source: 'default' });
    const otherwise = worldByDefault(DEFAULTS.slime);
    setWorld(facts, {
      nodes: options.integer('actor_num_nodes') ?? otherwise.nodes,
      perNode: options.integer('actor_num_gpus_per_node') ?? otherwise.perNode,
    });
    deriveFromWorld(facts);
    setRollout(options, facts);
    deriveGlobalBatch(facts);
    listUnmapped(options, new Set([...MEGATRON_OPTIONS, ...OWN]), facts);
    return facts;
  },
};

/** The engines: those that share the trainer's GPUs, or GPUs of their own behind them. */
function setRollout(options: Options, facts: Facts): void {
  const colocated = options.flag('colocate');
  const world = facts.get('world_size');
  facts.set('phases.rollout.engine', { value: 'sglang', source: 'default' });
  readEngine(options, 'rollout', facts, 'sglang_');
  // an engine's pipeline stages share its GPUs (slime/backends/sglang_utils/arguments.py)
  const perEngine = options.integer('rollout_num_gpus_per_engine') ?? { value: 1, source: 'default' };
  const stages = facts.get('phases.rollout.pp') ?? { value: 1, source: 'default' };
  const share = (ranks: number, pp: number) => (ranks % pp === 0 ? ranks / pp : null);
  facts.set('phases.rollout.tp', derived([perEngine, stages], share, 'pp does not divide rollout_num_gpus_per_engine'));
  const gpus = options.has('rollout_num_gpus') ? options.integer('rollout_num_gpus') : undefined;
  if (colocated) {
    facts.set('phases.rollout.num_ranks', gpus ?? derived([world], (ranks) => ranks, 'world_size'));
    return;
  }
  facts.apart.push('rollout');
  if (gpus && options.blocked === null) {
    facts.set('phases.rollout.num_ranks', gpus);
    facts.note('The rollout has GPUs of its own, beside the world of the trainer.');
  }
}
