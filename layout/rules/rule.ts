import type { Diagnostic, Fix, Related, Severity, Span } from '../diagnostic';
import type { ReadLayout } from '../format/read';
import { FRAMEWORKS } from '../frameworks';
import type { LayoutFacts } from '../topology/facts';

/** What a rule says when it fires; its code and severity are added to it. */
export interface Report {
  readonly message: string;
  /** The value (or key) at fault. */
  readonly span: Span;
  readonly related?: readonly Related[];
  /** The message of the error that Megatron-LM, or the framework that starts the job, would raise. */
  readonly predicts?: string | null;
  /** Whose words `predicts` are, where a rule of Megatron-LM has those of the framework in front of it. */
  readonly speaker?: string;
  /** The safest first; null stands for a fix that cannot be written into this file. */
  readonly fixes?: readonly (Fix | null)[];
  /** Where one firing weighs differently from the rule's usual severity. */
  readonly severity?: Severity;
}

/**
 * One rule: a file of its own, `layout/rules/<family>/<code>.ts`, with its test beside it. The page `docs/rules/<code>.md` is
 * built from it.
 */
export interface Rule {
  readonly code: string;
  readonly severity: Severity;
  /** A few words for a list of rules. */
  readonly title: string;
  /** What becomes of a job with such a file, in one clause that follows the severity; left out where Megatron-LM stops on every rank. */
  readonly effect?: string;
  /** When the rule fires. */
  readonly what: string;
  /** Why it matters. */
  readonly why: string;
  /** A whole file on which exactly this rule fires. */
  readonly failing: string;
  /** The same file put right: no rule fires at `error` or `warning`. Left out where the first fix of `failing` makes it. */
  readonly passing?: string;
  /** Where the behaviour is decided, as Markdown; left out where the format itself says so. */
  readonly sources?: readonly string[];
  /** For a rule that another file decides: that file beside `failing`, and what is printed of the two. */
  readonly beside?: { readonly file: string; readonly text: string; readonly said: string };
  /** What the rule says of a file's shape, as far as the file could be read. */
  readonly checkShape?: (read: ReadLayout) => Iterable<Report>;
  /** What the rule says of a file that could be read as a map. */
  readonly check?: (facts: LayoutFacts) => Iterable<Report>;
}

/** Who speaks where a report does not say it. */
export const MEGATRON_LM = 'Megatron-LM';

/** A report of a rule with the rule's code and severity. */
export function toDiagnostic(rule: Rule, report: Report): Diagnostic {
  return {
    code: rule.code,
    severity: report.severity ?? rule.severity,
    message: report.message,
    span: report.span,
    related: report.related ?? [],
    predicts: report.predicts ?? null,
    speaker: report.speaker ?? MEGATRON_LM,
    fixes: (report.fixes ?? []).filter((fix) => fix !== null),
  };
}

/**
 * Says of a training job that Megatron-LM checks something after its arguments; empty for a file that describes less, of which
 * nobody parses arguments.
 * @param when when it stops, such as `makes its process groups`
 */
export function stopsLater({ trainingScript }: LayoutFacts, when: string): string {
  return trainingScript ? ` Megatron-LM checks this when it ${when}.` : '';
}

/** A layout of `parallelism` in a few words: `job(16, 'tp: 2', 'fsdp: {enabled: true}')`. */
export function job(ranks: number, degrees: string, ...rest: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, `parallelism: {${degrees}}`, ...rest, ''].join('\n');
}

/** A layout of `modules`, a line each: `modules(8, 'language: {num_ranks: 8, tp: 2}')`. */
export function modules(ranks: number, ...lines: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, 'modules:', ...lines.map((line) => `  ${line}`), ''].join('\n');
}

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
