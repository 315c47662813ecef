import { FRAMEWORKS } from '../frameworks';

/** The revisions of NVIDIA/Megatron-LM that the rules were taken from. Nonuniform TP is on `dev` only. */
const MEGATRON = {
  main: { commit: 'd98e8a64dd', date: '2026-08-22' },
  dev: { commit: 'd48bd6be0a', date: '2026-08-21' },
} as const;

/**
 * Names functions or classes in a file of Megatron-LM's main branch, as Markdown.
 * @param file relative to the repository, such as `megatron/core/parallel_state.py`
 */
export function megatron(file: string, ...names: readonly string[]): string {
  return onBranch('main', file, names);
}

/** The same for the branch `dev`. */
export function megatronDev(file: string, ...names: readonly string[]): string {
  return onBranch('dev', file, names);
}

function onBranch(branch: keyof typeof MEGATRON, file: string, names: readonly string[]): string {
  const { commit, date } = MEGATRON[branch];
  return `${placed('NVIDIA/Megatron-LM', commit, file, names)} (${branch} at ${commit}, ${date})`;
}

/** The same for the repository of a framework, at the revision that was read of it. */
export function inFramework(repository: string, file: string, ...names: readonly string[]): string {
  const revision = FRAMEWORKS.find(({ source }) => source === repository)?.revision ?? 'HEAD';
  return `${placed(repository, revision, file, names)} (${repository} at ${revision})`;
}

function placed(repository: string, revision: string, file: string, names: readonly string[]): string {
  const link = `[${file}](https://github.com/${repository}/blob/${revision}/${file})`;
  return names.length === 0 ? link : `${names.map((name) => `\`${name}\``).join(', ')} in ${link}`;
}

/** Where Megatron-LM checks most: the arguments of the training script, the configuration of a model, the process groups. */
export const VALIDATE_ARGS = megatron('megatron/training/arguments.py', 'validate_args');
export const TRANSFORMER_CONFIG = megatron(
  'megatron/core/transformer/transformer_config.py',
  'TransformerConfig.__post_init__',
);
export const PARALLEL_STATE = megatron('megatron/core/parallel_state.py', 'initialize_model_parallel');

/** The same of examples/mimo: its flags, and the grids of modules. */
export const MIMO_ARGS = megatron('examples/mimo/training/args.py', 'validate_hetero_grid_args');
export const MIMO_TOPOLOGY = megatron('examples/mimo/training/topology.py', 'create_topology');

/** The layout format, which is defined by this project. */
export const FORMAT_SOURCE = 'The layout format of this project';
