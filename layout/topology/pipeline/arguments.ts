import { assertThat, floorDiv, modulo, raise, repr } from '../python';
import { parseLayerString } from './layerLayout';
import { accountedLayers, type PipelineSettings } from './settings';

/** Pipeline settings as the command line has them. */
export interface PipelineArguments extends PipelineSettings {
  /** `num_layers_per_virtual_pipeline_stage`; null where it is not set. */
  readonly perVirtualStage: number | null;
}

/**
 * What `validate_args` (megatron/training/arguments.py) checks of the pipeline of a model without a hybrid pattern, in its
 * order, and the virtual size that it gives the configuration. Only inside `attempt`.
 * @returns `virtual_pipeline_model_parallel_size`
 */
export function virtualSizeOf(settings: PipelineArguments): number | null {
  const { pp, vpp, perVirtualStage, layout } = settings;
  const set = [perVirtualStage, vpp, layout].filter((value) => value !== null).length;
  if (set > 1) {
    raise(
      'AssertionError',
      `No more than one of the following arguments can be set at the same time: --num-layers-per-virtual-pipeline-stage, --num-virtual-stages-per-pipeline-rank,--pipeline-model-parallel-layout. args.num_layers_per_virtual_pipeline_stage=${repr(perVirtualStage)}, args.num_virtual_stages_per_pipeline_rank=${repr(vpp)}, args.pipeline_model_parallel_layout=${repr(layout)}.`,
    );
  }
  const derived = derivedSize(settings);
  const size = derived === 1 ? null : derived;
  assertThat(
    size === null || pp > 1,
    'When interleaved schedule is used, pipeline-model-parallel size should be greater than 1',
  );
  return size;
}

function derivedSize(settings: PipelineArguments): number | null {
  const { pp, vpp, perVirtualStage, layout, first, last } = settings;
  if (layout !== null) {
    const stages = typeof layout === 'string' ? parseLayerString(layout).length : layout.length;
    assertThat(
      modulo(stages, pp) === 0,
      `The length of pipeline_model_parallel_layout must be divisible by pipeline_model_parallel_size (num_stages=${stages}, args.pipeline_model_parallel_size=${pp})`,
    );
    return floorDiv(stages, pp);
  }
  if (vpp !== null) {
    return vpp;
  }
  if (perVirtualStage !== null) {
    return sizeOfChunks(settings, perVirtualStage);
  }
  assertThat(
    first !== null || last !== null || modulo(accountedLayers(settings), pp) === 0,
    'Number of layers should be divisible by the pipeline-model-parallel size',
  );
  return null;
}

function sizeOfChunks(settings: PipelineArguments, chunk: number): number {
  const { pp, first, last } = settings;
  assertThat(
    first === null && last === null,
    'please use --num-virtual-stages-per-pipeline-rank to specify virtual pipeline parallel degree when enable uneven pipeline parallelism',
  );
  const layers = accountedLayers(settings);
  assertThat(modulo(layers, pp) === 0, 'number of layers of the model must be divisible pipeline model parallel size');
  const each = floorDiv(layers, pp);
  assertThat(
    modulo(each, chunk) === 0,
    'number of layers per pipeline stage must be divisible number of layers per virtual pipeline stage',
  );
  return floorDiv(each, chunk);
}
