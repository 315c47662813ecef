import type { Field } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { hasGtp, isBefore, versionOf } from '../../topology/versions';
import { changeFix, changes, removeFix } from '../fixes';
import { writtenRelated } from '../related';
import { job, megatronDev, PARALLEL_STATE, type Report, type Rule } from '../rule';

export const megatronVersion: Rule = {
  code: 'megatron-version',
  severity: 'error',
  title: 'The version of Megatron-LM does not have this option',
  what: '`megatron:` names a version that lacks an option of the file: generalized TP on `dev` and `core_r0.18` (and for modules on `core_r0.19`), `hybrid_context_parallel` on `dev`, an option that came with a later release (a pipeline layout before `core_r0.13`, `hybrid_layer_pattern` before `core_r0.17`, batches of evaluation before `core_r0.18`), `dynamic_context_parallel` and nonuniform TP outside `dev`.',
  why: 'Branches and releases differ: an argument that a version lacks is a TypeError, before anything else is checked.',
  failing: job(8, 'tp: 2, gtp_remat: 2', 'megatron: dev'),
  sources: [PARALLEL_STATE, megatronDev('megatron/core/parallel_state.py', 'initialize_model_parallel')],
  *check(facts) {
    yield* gtpReports(facts);
    yield* orderReports(facts);
    yield* contextReports(facts);
    yield* laterReports(facts);
    yield* spareReports(facts);
  },
};

function* gtpReports(facts: LayoutFacts): Iterable<Report> {
  const { root, modules, heterogeneous } = facts;
  const version = versionOf(facts);
  if (hasGtp(version, heterogeneous) || !root.megatron.written) {
    return;
  }
  if (facts.ignoresGtp) {
    yield* ignoredReports(facts, version);
    return;
  }
  for (const { degrees, nameSpan, fields } of modules) {
    const dense = (degrees?.gtpRemat ?? 1) > 1;
    if (dense || (degrees?.exptGtpRemat ?? 1) > 1) {
      const name = heterogeneous ? `${dense ? '' : 'expt_'}gtp_remat` : `${dense ? '' : 'expert_'}gtp_remat_size`;
      const call = heterogeneous ? 'ModuleGridSpec.__init__()' : 'initialize_model_parallel()';
      const field = dense ? fields.gtp_remat : fields.expt_gtp_remat;
      yield {
        message: `Megatron-LM ${version} has no generalized TP${heterogeneous ? ' for modules' : ''}. Use main, or gtp_remat 1.`,
        span: field.written ? field.span : nameSpan,
        related: writtenRelated('megatron', root.megatron),
        fixes: [changeFix('megatron', root.megatron, 'main')],
        predicts: `${call} got an unexpected keyword argument '${name}'`,
      };
    }
  }
}

/** examples/mimo of these versions hands the flags of generalized TP on to nothing. */
function* ignoredReports({ modules, root }: LayoutFacts, version: string): Iterable<Report> {
  for (const { fields } of modules) {
    const names = ['gtp_remat', 'num_weight_shards', 'expt_gtp_remat', 'expt_num_weight_shards'] as const;
    const name = names.find((key) => fields[key].written);
    if (name) {
      yield {
        severity: 'warning',
        message: `examples/mimo of Megatron-LM ${version} ignores ${name}: the module has no generalized TP. Use main, or remove it.`,
        span: fields[name].span,
        related: writtenRelated('megatron', root.megatron),
      };
    }
  }
}

/** `gtp_remat` in the order: looking its size up fails with a KeyError, whose message is the name. */
function* orderReports(facts: LayoutFacts): Iterable<Report> {
  const { root, heterogeneous } = facts;
  const version = versionOf(facts);
  const order = root.parallelism.value?.order;
  if (hasGtp(version, heterogeneous) || !order?.value?.toLowerCase().split('-').includes('gtp_remat')) {
    return;
  }
  const tokens = order.value.split('-').filter((token) => token.toLowerCase() !== 'gtp_remat');
  yield {
    message: `Megatron-LM ${version} has no dimension gtp_remat. Remove it from the order.`,
    ...changes('order', order, tokens.join('-')),
    related: writtenRelated('megatron', root.megatron),
    predicts: 'gtp_remat',
  };
}

/** Context parallelism that adapts to sequences is called otherwise on dev. */
function* contextReports(facts: LayoutFacts): Iterable<Report> {
  const { root, text } = facts;
  const version = versionOf(facts);
  const { hybrid_context_parallel: hybrid, dynamic_context_parallel: dynamic } = root.parallelism.value ?? {};
  const isDynamic = dynamic?.value === true;
  const [name, field] = isDynamic
    ? (['dynamic_context_parallel', dynamic] as const)
    : (['hybrid_context_parallel', hybrid] as const);
  if (field?.value === true && isDynamic !== (version === 'dev')) {
    yield {
      message: isDynamic
        ? `dynamic_context_parallel is of dev, and megatron is ${version}. Use hybrid_context_parallel, or megatron dev.`
        : 'Megatron-LM dev has no hybrid_context_parallel. Use dynamic_context_parallel, or megatron main.',
      span: field.span,
      predicts: `initialize_model_parallel() got an unexpected keyword argument '${name}'`,
      fixes: [removeFix(text, name, field)],
    };
  }
}

/** The keys that came with a release, each with its section: what an older one does not know. */
const SINCE = [
  ['parallelism', 'pipeline_model_parallel_layout', 13],
  ['parallelism', 'hybrid_context_parallel', 16],
  ['moe', 'overlap_moe_expert_parallel_comm', 14],
  ['moe', 'moe_flex_dispatcher_backend', 16],
  ['model', 'hybrid_layer_pattern', 17],
  ['batch', 'step_batch_size_schedule', 18],
  ['batch', 'eval_micro_batch_size', 18],
  ['batch', 'eval_global_batch_size', 18],
] as const;

/** Options that a release lacks, as they came later. */
function* laterReports(facts: LayoutFacts): Iterable<Report> {
  const { root, text } = facts;
  const version = versionOf(facts);
  for (const [section, name, minor] of SINCE.filter((one) => isBefore(version, one[2]))) {
    const fields: Readonly<Record<string, Field<unknown>>> = root[section].value ?? {};
    const field = fields[name];
    if (field?.written && !field.given && field.value !== false) {
      yield {
        message: `Megatron-LM ${version} has no ${name}, which came with core 0.${minor}. Use a later megatron, or remove it.`,
        span: field.span,
        related: writtenRelated('megatron', root.megatron),
        fixes: [removeFix(text, name, field)],
      };
    }
  }
}

/** Nonuniform TP in a version that has no module for it. */
function* spareReports({ root }: LayoutFacts): Iterable<Report> {
  const { megatron: version, ntp } = root;
  const { tp_spares: spares, failed_ranks: failed } = ntp.value ?? {};
  if (version.value !== undefined && version.value !== 'dev' && (spares?.value || failed?.written)) {
    yield {
      message: `Nonuniform TP is of dev, and megatron is ${version.value}. Use megatron dev, or drop the replica.`,
      span: ntp.keySpan,
      related: writtenRelated('megatron', version),
      predicts: "No module named 'megatron.core.distributed.nonuniform_tp'",
      fixes: [changeFix('megatron', version, 'dev')],
    };
  }
}
