import { DEFAULTS } from '../defaults';
import { Facts } from '../facts';
import type { CommandFamily, DocumentFamily } from '../family';
import { readFlags } from '../flags';
import type { Job } from '../launchers';
import { textOf } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { applyOverrides } from '../omegaconf';
import { type Option, Options } from '../options';
import { at, optionsOf, type Tree } from '../tree';
import { deriveFromWorld, setWorld } from '../world';
import { listUnmappedTree, readKeys } from './keys';

const DIALECT: Dialect = {
  defaults: DEFAULTS.primus,
  switches: 'value',
  expertTpIsTp: false,
  modelElsewhere: true,
  groupsAlone: true,
  keepsSequenceParallel: true,
};

const RECIPE = 'the Python recipe';

/** Megatron Bridge's scripts: overrides such as `model.tensor_model_parallel_size=2` over a Python recipe. */
export const bridgeCommand: CommandFamily = {
  name: 'megatron-bridge',
  matches: (job) =>
    job.program === 'python' &&
    (/(^|\/)(run_recipe|run_script|setup_experiment)\.py$/.test(job.script ?? '') || hasOverride(job))
      ? 2.5
      : 0,
  read(job) {
    const facts = new Facts();
    const { options } = readFlags(job.args, job.place, { overrides: true });
    const flags = new Map([...options.entries].filter(([name]) => MEGATRON_OPTIONS.has(name)));
    const overrides = new Map([...options.entries].filter(([name]) => name.includes('.')));
    const tree = applyOverrides({ kind: 'map', entries: new Map(), place: job.place }, overrides);
    readBridge(tree, flags, options.blocked ?? RECIPE, facts);
    setWorld(facts, job.world);
    deriveFromWorld(facts);
    listUnmappedTree(tree, '', MAPPED, facts);
    return facts;
  },
};

function hasOverride({ args }: Job): boolean {
  return args.some((arg) =>
    /^\+{0,2}(model\.(?=\w*parallel)\w+|train\.(micro|global)_batch_size)=/.test(textOf(arg) ?? startText(arg)),
  );
}

function startText(arg: Job['args'][number]): string {
  const first = arg.kind === 'word' ? arg.text[0] : undefined;
  return first?.kind === 'text' ? first.text : '';
}

/** `run_config.yaml` of a checkpoint, which is complete, and override files for a recipe, which are not. */
export const bridgeDocument: DocumentFamily = {
  name: 'megatron-bridge',
  matches: ({ tree }) => {
    const has = (path: string) => at(tree, path) !== undefined;
    const hasDegree = has('model.tensor_model_parallel_size') || has('model.pipeline_model_parallel_size');
    // overrides of a recipe may be of the model alone; with a trainer beside it, the file is NeMo's
    return has('model') && (has('train') || has('ddp') || has('dataset') || (hasDegree && !has('trainer')));
  },
  read({ tree }) {
    const facts = new Facts();
    const isComplete = at(tree, '_target_') !== undefined || at(tree, 'model._target_') !== undefined;
    readBridge(tree, new Map(), isComplete ? null : RECIPE, facts);
    facts.set('world_size', { unknown: 'the world of the launcher' });
    listUnmappedTree(tree, '', MAPPED, facts);
    return facts;
  },
};

const MAPPED: ReadonlySet<string> = new Set([...MEGATRON_OPTIONS, 'train.micro_batch_size', 'train.global_batch_size']);

function readBridge(tree: Tree, flags: ReadonlyMap<string, Option>, blocked: string | null, facts: Facts): void {
  const entries = new Map([...optionsOf(at(tree, 'ddp')).entries, ...optionsOf(at(tree, 'model')).entries, ...flags]);
  const types = ['bf16', 'fp16', 'params_dtype'].filter((name) => entries.has(name));
  readMegatron(new Options(entries, blocked), { ...DIALECT, resolved: blocked === null }, facts);
  if (types.length === 0) {
    facts.delete('model.params_dtype');
  }
  readKeys(
    tree,
    [
      ['train.micro_batch_size', 'batch.micro_batch_size', 'integer'],
      ['train.global_batch_size', 'batch.global_batch_size', 'integer'],
      ['dataset.sequence_length', 'sequence.seq_length', 'integer'],
      ['dataset.seq_length', 'sequence.seq_length', 'integer'],
      ['model.seq_length', 'sequence.seq_length', 'integer'],
      ['optimizer.use_distributed_optimizer', 'optimizer.use_distributed_optimizer', 'boolean'],
      ['ddp.use_distributed_optimizer', 'optimizer.use_distributed_optimizer', 'boolean'],
      ['optimizer.optimizer', 'optimizer.optimizer', 'text'],
    ],
    facts,
  );
}
