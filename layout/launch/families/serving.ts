import { Facts, type Found } from '../facts';
import type { CommandFamily, DocumentFamily } from '../family';
import { readFlags } from '../flags';
import type { Job } from '../launchers';
import { textOf } from '../launchers';
import type { Options } from '../options';
import { at, optionsOf, type TreeMap } from '../tree';
import { listUnmapped } from './megatron-lm';

const TP = ['tensor_parallel_size', 'tp_size', 'tp'];
const DP = ['data_parallel_size', 'dp_size', 'dp'];
const PP = ['pipeline_parallel_size', 'pp_size', 'pp'];
const EP = ['ep_size', 'expert_parallel_size', 'ep'];

const NOTE = 'This is a serving job, not a training layout: dp lies inside tp where attention runs data-parallel.';

/** vLLM's server: `vllm serve`, or its module. */
export const vllm: CommandFamily = {
  name: 'vllm',
  matches: (job) =>
    job.program === 'vllm' && textOf(job.args[0]) === 'serve' ? 1 : /^vllm\.entrypoints/.test(job.script ?? '') ? 1 : 0,
  read: (job) => serve(job, 'vllm'),
};

/** SGLang's server. */
export const sglang: CommandFamily = {
  name: 'sglang',
  matches: (job) => (/^sglang(\.launch_server|_router\.launch_server|\.bench_\w+)$/.test(job.script ?? '') ? 1 : 0),
  read: (job) => serve(job, 'sglang'),
};

function serve(job: Job, engine: string): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place);
  setRole(facts, 'serve', engine, options);
  listUnmapped(options, new Set([...TP, ...DP, ...PP, ...EP]), facts);
  facts.note(NOTE);
  return facts;
}

function setRole(facts: Facts, role: string, engine: string, options: Options): void {
  const size = (names: readonly string[]): Found<number> | undefined =>
    names.some((name) => options.has(name)) ? options.integer(...names) : undefined;
  facts.set(`phases.${role}.engine`, { value: engine, source: 'default' });
  for (const [key, names] of [
    ['tp', TP],
    ['dp', DP],
    ['pp', PP],
    ['ep', EP],
  ] as const) {
    facts.set(`phases.${role}.${key}`, size(names));
    if (options.blocked === null && key !== 'ep') {
      facts.setDefault(`phases.${role}.${key}`, 1);
    }
  }
}

const ROLES = ['prefill', 'decode', 'aggregated', 'agg'];

/** srt-slurm's recipes: one configuration a role (`prefill`, `decode`, `agg`). */
export const srtSlurm: DocumentFamily = {
  name: 'srt-slurm',
  matches: ({ tree }) => rolesOf(tree).length > 0,
  read({ tree }) {
    const facts = new Facts();
    for (const { role, engine, options } of rolesOf(tree)) {
      setRole(facts, role, engine, options);
    }
    facts.note(NOTE);
    return facts;
  },
};

function rolesOf(tree: TreeMap): { role: string; engine: string; options: Options }[] {
  const backend = at(tree, 'backend');
  const type = optionsOf(backend).string('type');
  const engine =
    type && 'value' in type && /vllm|sglang|trtllm/.test(type.value)
      ? (/vllm|sglang|trtllm/.exec(type.value)?.[0] ?? 'sglang')
      : 'sglang';
  const configurations = ['sglang_config', 'vllm_config', 'trtllm_config', 'config'].flatMap((name) => {
    const section = at(backend, name);
    return section ? [section] : [];
  });
  return configurations.flatMap((section) =>
    ROLES.flatMap((role) => {
      const own = at(section, role);
      return own?.kind === 'map' ? [{ role, engine, options: optionsOf(own) }] : [];
    }),
  );
}
