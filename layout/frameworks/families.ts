import type { LaunchFamily } from '../launch/family';
import { accelerateLaunch } from './accelerate';
import { axolotlLaunch } from './axolotl';
import { deepspeedLaunch } from './deepspeed';
import { llamaFactoryLaunch } from './llama-factory';
import { megatronBridge } from './megatron-bridge';
import { megatronLm } from './megatron-lm';
import { megatronLog } from './megatron-log';
import { mimo } from './mimo';
import { mindspeed } from './mindspeed';
import { modelConfig } from './model-config';
import { swiftLaunch } from './ms-swift';
import { nanotronLaunch } from './nanotron';
import { nemoRlLaunch } from './nemo-rl';
import { primusLaunch } from './primus';
import { sglang, srtSlurm, vllm } from './serving';
import { slime } from './slime';
import { torchtitanLaunch } from './torchtitan';
import { verlLaunch } from './verl';

/** How the launch files of each framework are read. What a file is follows from its evidence, never from this order. */
const ALL = [
  megatronLm,
  megatronLog,
  modelConfig,
  mimo,
  megatronBridge,
  verlLaunch,
  nemoRlLaunch,
  primusLaunch,
  slime,
  swiftLaunch,
  mindspeed,
  torchtitanLaunch,
  accelerateLaunch,
  axolotlLaunch,
  nanotronLaunch,
  llamaFactoryLaunch,
  deepspeedLaunch,
  vllm,
  sglang,
  srtSlurm,
] as const;

/** The name that `--family` takes. */
export type FamilyName = (typeof ALL)[number]['name'];

export const LAUNCH_FAMILIES: readonly LaunchFamily<FamilyName>[] = ALL;

/** The families of launch files, by the name that `--family` takes. */
export const FAMILIES: readonly FamilyName[] = ALL.map(({ name }) => name);
