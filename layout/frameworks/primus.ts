import type { Framework } from './framework';
import { MEGATRON_RANKS } from './megatron';
import { torchtitan } from './torchtitan';

const READS =
  'Experiments in YAML with their presets, alone or behind `primus-cli` and `run_pretrain.sh`: the options of the framework under `overrides`, `NNODES` and `GPUS_PER_NODE` of the environment, 1 and 8 where they are not set.';

/** Primus on Megatron-LM, whose argument parser it calls. */
export const primus: Framework = {
  ...MEGATRON_RANKS,
  name: 'primus',
  title: 'Primus',
  revision: 'fd1eeabbad',
  source: 'AMD-AGI/Primus',
  rules: { own: [], megatron: 'script' },
  reads: READS,
  notes: [],
  example: 'layout: 1\nworld_size: 16\nlaunch: {family: primus}\nparallelism: {tp: 2, pp: 2}\n',
};

/** Primus on torchtitan: torchtitan's own ranks and rules. */
export const primusTorchtitan: Framework = {
  ...torchtitan,
  name: 'primus',
  engine: 'torchtitan',
  title: 'Primus',
  reads: READS,
  example: torchtitan.example.replace('family: torchtitan', 'family: primus, engine: torchtitan'),
};
