import { isModelPath } from '../../format/keyPath';
import { DEFAULTS } from '../defaults';
import type { CommandFamily } from '../family';
import { readFlags } from '../flags';
import { derived, type FactPath, Facts, isKnown, product } from '../foundValues';
import { MEGATRON_OPTIONS, MEGATRON_SWITCHES, readMegatron } from '../megatron';
import { isOn, type Options } from '../options';
import { setWorld } from '../world';
import { hasFlag, listUnmapped } from './megatron-lm';

const FLAGS: Readonly<Record<string, FactPath>> = {
  encoder_tp: 'modules.encoder.tp',
  encoder_dp: 'modules.encoder.dp',
  llm_offset: 'modules.language.rank_offset',
  llm_tp: 'modules.language.tp',
  llm_cp: 'modules.language.cp',
  llm_pp: 'modules.language.pp',
  llm_dp: 'modules.language.dp',
  llm_ep: 'modules.language.ep',
  llm_expt_tp: 'modules.language.expt_tp',
  tensor_parallel_num_weight_shards: 'modules.language.num_weight_shards',
  expert_tensor_parallel_num_weight_shards: 'modules.language.expt_num_weight_shards',
};

/** Megatron-LM's MIMO example: one grid for the encoder, one for the language model (examples/mimo/training/args.py). */
export const mimo: CommandFamily = {
  name: 'mimo',
  matches: (job) =>
    hasFlag(job, '--llm-tp', '--llm-dp', '--encoder-tp', '--encoder-dp', '--llm-offset')
      ? 3
      : /(^|\/)pretrain_mimo\.py$/.test(job.script ?? '')
        ? 2
        : 0,
  read(job) {
    const facts = new Facts();
    const { options } = readFlags(job.args, job.place, {
      switches: new Set([...MEGATRON_SWITCHES, 'llm_only', 'encoder_ddp_overlap']),
    });
    for (const [name, key] of Object.entries(FLAGS)) {
      facts.set(key, options.has(name) || options.blocked !== null ? options.integer(name) : undefined);
    }
    const only = options.flag('llm_only');
    if (options.blocked === null) {
      facts.takeDefaults(DEFAULTS.mimo);
    }
    if (isOn(only)) {
      for (const name of ['tp', 'dp', 'rank_offset'] as const) {
        facts.delete(`modules.encoder.${name}`);
      }
    }
    readShared(options, facts);
    setWorld(facts, job.world);
    coverWorld(facts);
    listUnmapped(options, new Set([...MEGATRON_OPTIONS, ...Object.keys(FLAGS), 'llm_only']), facts);
    return facts;
  },
};

/** Megatron-LM's own flags hold for the language model and the batch. */
function readShared(options: Options, facts: Facts): void {
  const shared = new Facts();
  readMegatron(options, { defaults: DEFAULTS.megatron, switches: 'bare', expertTpIsTp: false }, shared);
  for (const [key, found] of shared.all) {
    if (isModelPath(key)) {
      facts.set(`modules.language.${key}`, found);
    } else if (/^(batch|optimizer|recompute|moe)\./.test(key)) {
      facts.set(key, found);
    }
  }
}

/** Without a launcher's count, the world is what both grids cover. */
function coverWorld(facts: Facts): void {
  if (isKnown(facts.get('world_size'))) {
    return;
  }
  const names = ['rank_offset', 'tp', 'cp', 'pp', 'dp'] as const;
  const language = names.map((name) => facts.get(`modules.language.${name}`));
  if (!facts.get('modules.language.num_weight_shards')) {
    const cover = (offset: number, ...sizes: number[]) => offset + product(sizes);
    const world = derived(language, cover, 'world_size');
    facts.set('world_size', isKnown(world) ? { value: world.value, source: 'default' } : facts.get('world_size'));
  }
}
