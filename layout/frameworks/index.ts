import type { RootKeys } from '../format/keys';
import type { Section } from '../format/spec';
import { accelerate } from './accelerate';
import { axolotl } from './axolotl';
import { deepspeed, megatronDeepspeed } from './deepspeed';
import type { Framework } from './framework';
import { llamaFactory } from './llama-factory';
import { MEGATRON_BASED } from './megatron';
import { swift, swiftTransformers } from './ms-swift';
import { nanotron } from './nanotron';
import { nemoRl, nemoRlDtensor } from './nemo-rl';
import { primus, primusTorchtitan } from './primus';
import { torchtitan } from './torchtitan';
import { verl, verlFsdp } from './verl';

export * from './framework';

/** Every framework that is described; the others start Megatron-LM's training script. */
export const FRAMEWORKS: readonly Framework[] = [
  ...MEGATRON_BASED,
  nemoRl,
  nemoRlDtensor,
  verl,
  verlFsdp,
  swift,
  swiftTransformers,
  llamaFactory,
  megatronDeepspeed,
  deepspeed,
  torchtitan,
  primus,
  primusTorchtitan,
  accelerate,
  nanotron,
  axolotl,
];

/**
 * The framework that starts the job of a layout, by `launch.family` and `launch.engine`; null where that is Megatron-LM's own
 * training script, or not said.
 */
export function frameworkOf({ launch }: Section<RootKeys>): Framework | null {
  const family = launch.value?.family.value;
  const engine = launch.value?.engine.value;
  const all = FRAMEWORKS.filter(({ name }) => name === family);
  return all.find((one) => one.engine !== undefined && one.engine === engine) ?? all.find((one) => !one.engine) ?? null;
}
