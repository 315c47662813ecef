import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated, writtenRelated } from '../related';
import { inFramework, type Report, type Rule } from '../rule';
import { type Rollouts, rolloutsOf, type Trainer, trainersOf } from './rollouts';

export const nemoRlBatch: Rule = {
  code: 'nemo-rl-batch',
  severity: 'error',
  title: "NeMo-RL's batches do not divide, or its padding does not fit the ranks",
  effect: 'NeMo-RL stops when it shards the first batch',
  what: 'In a NeMo-RL job: the samples of a step (`prompts_per_step * samples_per_prompt`) are not a multiple of `global_batch_size`; `global_batch_size` is not a multiple of the data-parallel ranks (that of the phase `critic` is held to the same); or packed sequences (`qkv_format: thd`) on Megatron Core are padded to `pad_multiple`, which is not a multiple of `2 * cp` (with `cp` above 1) times `tp` (with sequence parallelism). A `pad_multiple` above half of a pack leaves room for one sequence alone (a warning).',
  why: 'A step is cut into global batches, a global batch into equal shards, one a data-parallel rank. Each packed sequence is cut on its own, so its padded length must divide among the ranks that share it.',
  failing:
    'layout: 1\nworld_size: 8\nlaunch: {family: nemo-rl}\nparallelism: {tp: 2, cp: 2}\nsequence: {qkv_format: thd, sequence_parallel: true, pad_multiple: 4}\n',
  sources: [
    inFramework('NVIDIA-NeMo/RL', 'nemo_rl/distributed/batched_data_dict.py', 'BatchedDataDict.shard_by_batch_size'),
    inFramework('NVIDIA-NeMo/RL', 'nemo_rl/models/megatron/data.py', '_get_pack_sequence_parameters_for_megatron'),
  ],
  *check(facts) {
    const { modules, framework } = facts;
    const rollouts = rolloutsOf(facts);
    for (const trainer of trainersOf(facts)) {
      yield* batchReports(rollouts, trainer);
    }
    const [module] = modules;
    const sequence = module?.sequence.value;
    const pad = sequence?.pad_multiple;
    if (!module?.degrees || framework?.rules.megatron === 'none' || !sequence || pad?.value === undefined) {
      return;
    }
    const { tp, cp } = module.degrees;
    const isCutByTp = tp > 1 && sequence.sequence_parallel.value === true;
    const least = (cp > 1 ? 2 * cp : 1) * (isCutByTp ? tp : 1);
    const length =
      (sequence.seq_length.value ?? Number.POSITIVE_INFINITY) * (facts.root.batch.value?.micro_batch_size.value ?? 1);
    if (sequence.qkv_format.value === 'thd' && pad.value % least === 0 && 2 * pad.value > length) {
      yield {
        severity: 'warning',
        message: `Each packed sequence is padded to a multiple of ${pad.value} of the ${length} tokens of a pack, which then holds one sequence alone. Use pad_multiple ${least}.`,
        ...changes('pad_multiple', pad, least),
        related: [valueRelated('seq_length', sequence.seq_length)],
      };
    }
    if (sequence.qkv_format.value === 'thd' && pad.value % least !== 0) {
      const better = nearestMultiples(least, pad.value);
      yield {
        message: `Each packed sequence is padded to a multiple of ${pad.value}, but ${[...(cp > 1 ? [`2 x cp ${cp}`] : []), ...(isCutByTp ? [`tp ${tp}`] : [])].join(' x ')} = ${least} ranks and chunks share it. Use pad_multiple ${eitherNumber(better)}.`,
        ...changes('pad_multiple', pad, ...better),
        related: [
          ...(cp > 1 ? writtenRelated('cp', module.fields.cp) : []),
          ...(isCutByTp ? writtenRelated('tp', module.fields.tp) : []),
        ],
        predicts: `make_sequence_length_divisible_by (${pad.value}) is not a multiple of minimum_pad_factor (${least}).\nPlease set policy.make_sequence_length_divisible_by to a multiple of ${least}.`,
      };
    }
  },
};

/** A step is whole batches of the policy, and of the critic; a batch is whole shards of their data-parallel ranks. */
function* batchReports(rollouts: Rollouts | null, { role, global, dp }: Trainer): Iterable<Report> {
  if (global?.value === undefined) {
    return;
  }
  const of = role === 'critic' ? ' of the critic' : '';
  const total = rollouts ? rollouts.prompts * rollouts.samples : 0;
  if (rollouts && total % global.value !== 0) {
    const { prompts, samples, rl } = rollouts;
    yield {
      message: `prompts_per_step ${prompts} x samples_per_prompt ${samples} = ${total} samples, not a multiple of global_batch_size ${global.value}${of}. Use global_batch_size ${total}.`,
      ...changes('global_batch_size', global, total),
      related: [
        valueRelated('prompts_per_step', rl.prompts_per_step),
        ...writtenRelated('samples_per_prompt', rl.samples_per_prompt),
      ],
      predicts: `Total batch size (${total}) is not a multiple of batch_size (${global.value})`,
    };
  }
  if (global.value % dp !== 0) {
    const better = nearestMultiples(dp, global.value);
    yield {
      message: `global_batch_size ${global.value} does not divide among ${dp} data-parallel ranks${of}. Use global_batch_size ${eitherNumber(better)}.`,
      ...changes('global_batch_size', global, ...better),
      predicts: `Batch size (${global.value}) is not a multiple of shards (${dp})`,
    };
  }
}
