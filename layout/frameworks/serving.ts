import type { Job } from '../launch/commands';
import type { LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import { listUnmapped, listUnmappedTree } from '../launch/optionRows';
import { isOn, type Options } from '../launch/options';
import { textOf } from '../launch/sources/shell/words';
import { at, optionsOf, type TreeMap, textAtPath } from '../launch/sources/tree';
import { derived, Facts, type Found, isKnown, ONE } from '../launch/value';

/** How engines spell their degrees: vLLM's and SGLang's flags with their aliases, and verl's keys. */
const DEGREES = [
  ['tp', ['tensor_parallel_size', 'tp_size', 'tp', 'tensor_model_parallel_size']],
  ['dp', ['data_parallel_size', 'dp_size', 'dp']],
  ['pp', ['pipeline_parallel_size', 'pp_size', 'pp', 'pipeline_model_parallel_size']],
  ['ep', ['expert_parallel_size', 'ep_size', 'ep', 'moe_expert_parallel_size']],
] as const;

/** vLLM's switch that spreads the experts over all of its ranks, tp x dp (vllm/config/parallel.py). */
const EXPERT_SWITCH = 'enable_expert_parallel';

/** The options that `readEngine` reads. */
export function engineOptions(prefix = ''): string[] {
  return [...DEGREES.flatMap(([, names]) => names), EXPERT_SWITCH].map((name) => `${prefix}${name}`);
}

/**
 * Sets the degrees of an inference engine as a phase of the layout.
 * @param prefix what stands before the engine's own names, such as `vllm_`
 * @param otherwise the size of a degree that is not given, where the framework has one
 */
export function readEngine(options: Options, phase: string, facts: Facts, prefix = '', otherwise?: number): void {
  const keyOf = (degree: 'tp' | 'dp' | 'pp' | 'ep') => `phases.${phase}.${degree}` as const;
  for (const [degree, names] of DEGREES) {
    facts.set(keyOf(degree), options.given.integer(...names.map((name) => `${prefix}${name}`)));
    if (otherwise !== undefined && options.blocked === null && degree !== 'ep') {
      facts.setDefault(keyOf(degree), otherwise);
    }
  }
  const spread = options.given.boolean(`${prefix}${EXPERT_SWITCH}`);
  if (isOn(spread) && isKnown(spread) && !facts.get(keyOf('ep'))) {
    const sizes = (['tp', 'dp'] as const).map((degree) => facts.get(keyOf(degree)) ?? ONE);
    const ranks = derived(sizes, (tp, dp) => tp * dp, EXPERT_SWITCH);
    facts.set(keyOf('ep'), isKnown(ranks) ? { value: ranks.value, source: spread.source } : ranks);
  }
}

const NOTE = 'This is a serving job, not a training layout: dp lies inside tp where attention runs data-parallel.';

/** vLLM's server: `vllm serve`, or its module. */
export const vllm: LaunchFamily<'vllm'> = {
  name: 'vllm',
  command: {
    evidence: (job) =>
      (job.program === 'vllm' && textOf(job.args[0]) === 'serve') || /^vllm\.entrypoints/.test(job.script ?? '')
        ? 'options'
        : null,
    read: (job) => serve(job, 'vllm'),
  },
};

/** SGLang's server. */
export const sglang: LaunchFamily<'sglang'> = {
  name: 'sglang',
  command: {
    evidence: (job) =>
      /^sglang(\.launch_server|_router\.launch_server|\.bench_(one_batch\w*|offline_throughput))$/.test(
        job.script ?? '',
      ) ||
      (job.program === 'sglang' && textOf(job.args[0]) === 'serve')
        ? 'options'
        : null,
    read: (job) => serve(job, 'sglang'),
  },
};

function serve(job: Job, engine: string): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place);
  setRole(facts, 'serve', engine, options);
  facts.set('model.from', servedModel(job, options));
  listUnmapped(options, new Set([...engineOptions(), 'model', 'model_path']), facts);
  facts.note(NOTE);
  return facts;
}

/** The model that a server loads: `vllm serve NAME`, or an option. */
function servedModel(job: Job, options: Options): Found<string> | undefined {
  const name = ['model', 'model_path'].find((one) => options.has(one));
  if (name !== undefined) {
    return options.string(name);
  }
  const given = job.program === 'vllm' ? textOf(job.args[1]) : null;
  return given && !given.startsWith('-') ? { value: given, source: job.place } : undefined;
}

/** Sets the phase of one role; TensorRT-LLM has no size of its own for data parallelism. */
function setRole(facts: Facts, role: string, engine: string, options: Options): void {
  facts.set(`phases.${role}.engine`, { value: engine, source: 'default' });
  readEngine(options, role, facts, '', 1);
  if (engine === 'trtllm' && !options.has('data_parallel_size')) {
    facts.delete(`phases.${role}.dp`);
  }
}

const ROLES = ['prefill', 'decode', 'aggregated', 'agg'];

/** srt-slurm's recipes: one configuration a role (`prefill`, `decode`, `agg`), also under the `base` of several variants. */
export const srtSlurm: LaunchFamily<'srt-slurm'> = {
  name: 'srt-slurm',
  document: {
    evidence: ({ tree }) => (rolesOf(tree).length > 0 ? 'own' : null),
    read({ tree }) {
      const facts = new Facts();
      for (const { role, engine, section } of rolesOf(tree)) {
        setRole(facts, role, engine, optionsOf(section));
        listUnmappedTree(section, role, MAPPED_SPELLINGS, facts);
      }
      facts.note(NOTE);
      if (at(tree, 'base') !== undefined) {
        facts.note('The values are those of base; variants that override them are not read.');
      }
      return facts;
    },
  },
};

/** Recipes spell options with hyphens or with underscores. */
const MAPPED_SPELLINGS: ReadonlySet<string> = new Set(
  engineOptions().flatMap((name) => [name, name.replaceAll('_', '-')]),
);

interface Role {
  readonly role: string;
  readonly engine: string;
  readonly section: TreeMap;
}

/** The roles of a recipe: `backend.sglang_config.prefill`, or `roles.prefill.args` of the second schema. */
function rolesOf(recipe: TreeMap): Role[] {
  const tree = at(recipe, 'base') ?? recipe;
  const backend = at(tree, 'backend');
  const engine = /vllm|sglang|trtllm/.exec(textAtPath(backend, 'type') ?? textAtPath(tree, 'engine') ?? '')?.[0];
  const configurations = ['sglang_config', 'vllm_config', 'trtllm_config', 'config'].map((name) => at(backend, name));
  return ROLES.flatMap((role) =>
    [...configurations.map((one) => at(one, role)), at(tree, `roles.${role}.args`)].flatMap((section) =>
      section?.kind === 'map' ? [{ role, engine: engine ?? 'sglang', section }] : [],
    ),
  );
}
