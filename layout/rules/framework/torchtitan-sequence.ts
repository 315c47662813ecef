import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated, writtenRelated } from '../related';
import { inFramework, type Rule } from '../rule';

export const torchtitanSequence: Rule = {
  code: 'torchtitan-sequence',
  severity: 'warning',
  title: 'The tokens of a micro-batch do not divide among their ranks',
  effect: 'the training loop of torchtitan stops on every rank, or a layer fails',
  what: 'The tokens of a micro-batch (`seq_length * micro_batch_size`) of a torchtitan job are not a multiple of `tp` (sequence parallelism, which is on unless `sequence_parallel: false`) times `2 * cp` (with `cp` above 1). Each sequence is held as well: versions that cut sequence by sequence stop there. It is a warning, because `ParallelDims` itself takes such degrees; only the `Trainer`, which knows the tokens, stops.',
  why: 'Sequence parallelism and context parallelism cut the tokens among their ranks. Without the check, shapes differ between ranks and a reshape fails in the first layer.',
  failing:
    'layout: 1\nworld_size: 4\nlaunch: {family: torchtitan}\nparallelism: {tp: 4}\nsequence: {seq_length: 8190}\nbatch: {micro_batch_size: 1}\n',
  sources: [
    inFramework('pytorch/torchtitan', 'torchtitan/trainer.py', 'Trainer.__init__'),
    inFramework('pytorch/torchtitan', 'torchtitan/distributed/parallel_dims.py', 'ParallelDims.seq_len_divisor'),
  ],
  *check({ modules, root }) {
    const [module] = modules;
    const sequence = module?.sequence.value;
    const length = sequence?.seq_length.value;
    if (!module?.degrees || !sequence || length === undefined) {
      return;
    }
    const { tp, cp } = module.degrees;
    const byTp = sequence.sequence_parallel.value === false && sequence.sequence_parallel.written ? 1 : tp;
    const divisor = byTp * (cp > 1 ? 2 * cp : 1);
    const micro = root.batch.value?.micro_batch_size;
    const tokens = length * (micro?.value ?? 1);
    if (length % divisor === 0) {
      return;
    }
    const better = nearestMultiples(divisor, length);
    const factors = [...(byTp > 1 ? [`tp ${tp}`] : []), ...(cp > 1 ? [`2 x cp ${cp}`] : [])].join(' x ');
    const by = factors.includes('x') ? `${factors} = ${divisor}` : factors;
    // torchtitan counts the tokens of a micro-batch; it counted those of a sequence before
    const isSure = micro?.value !== undefined && tokens % divisor !== 0;
    const others = tokens % divisor === 0 ? `, only the ${tokens} tokens of a micro-batch are` : '';
    yield {
      message: isSure
        ? `seq_length ${length}${tokens === length ? '' : ` x micro_batch_size ${micro?.value} = ${tokens} tokens`} is not a multiple of ${by}. Use ${eitherNumber(better)}.`
        : `seq_length ${length} is not a multiple of ${by}${others}: versions of torchtitan that cut each sequence fail. Use ${eitherNumber(better)}.`,
      ...changes('seq_length', sequence.seq_length, ...better),
      related: [
        ...(byTp > 1 ? writtenRelated('tp', module.fields.tp) : []),
        ...(cp > 1 ? writtenRelated('cp', module.fields.cp) : []),
        ...(micro?.value !== undefined && micro.value > 1 ? [valueRelated('micro_batch_size', micro)] : []),
      ],
      predicts: isSure
        ? `The number of tokens per pipeline microbatch (${tokens}) must be divisible by ${divisor} for the configured sequence/context parallelism.`
        : null,
    };
  },
};
