import type { Fix } from '../diagnostic';
import { removeField, setKey } from '../format/edit';
import { nearest } from '../format/nearest';
import type { Field } from '../format/spec';
import { type LayoutFacts, valueOr } from '../topology/facts';
import { GROUP_NAMES, processGroups } from '../topology/process-groups';
import { resolveLayout } from '../topology/resolve';
import { replaceFix, suggestion } from './fixes';
import { both } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

const SOURCE = '`initialize_model_parallel` in megatron/core/parallel_state.py';
const SHARP_GROUPS = ['dp', 'dp_replica'];

/** The SHARP options as written; null where one is unusable, or where no `parallelism` reads them. */
function sharpOf({ root, heterogeneous }: LayoutFacts) {
  const options = root.communicators.value;
  const useSharp = options && valueOr(options.use_sharp, false);
  if (heterogeneous || !options || useSharp === undefined) {
    return null;
  }
  const group = options.sharp_enabled_group;
  return group.written && group.value === undefined ? null : { options, useSharp, group };
}

export const sharpGroup: Rule = {
  code: 'sharp-group',
  severity: 'error',
  title: 'A group that cannot use SHARP',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`sharp_enabled_group` is written without `use_sharp`, is neither `dp` nor `dp_replica`, or is `dp_replica` while there is one optimizer instance.',
  why: 'SHARP reduces in the network for one kind of group only: the data-parallel group, or the group across optimizer instances. Megatron-LM stops every rank.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
communicators:
  use_sharp: true
  sharp_enabled_group: dp_replica
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  num_distributed_optimizer_instances: 2
communicators:
  use_sharp: true
  sharp_enabled_group: dp_replica
`,
  sources: [otherSource(SOURCE)],
  *check(facts) {
    const sharp = sharpOf(facts);
    const group = sharp?.group.value;
    if (!sharp || group === undefined) {
      return;
    }
    if (!sharp.useSharp) {
      yield withoutSharp(facts, sharp.group, sharp.options.use_sharp);
    } else if (!SHARP_GROUPS.includes(group)) {
      yield invalidGroup(facts, sharp.group, group);
    } else if (group === 'dp_replica') {
      yield* oneInstance(facts, sharp.group);
    }
  },
};

function withoutSharp({ text }: LayoutFacts, group: Field<string>, useSharp: Field<boolean>): Report {
  return {
    message: '`sharp_enabled_group` names a group, but `use_sharp` is off. Remove it, or switch `use_sharp` on.',
    span: group.span,
    related: useSharp.written ? [{ message: 'use_sharp is off here', span: useSharp.span }] : [],
    predicts: 'sharp_enabled_group is only valid when use_sharp is True',
    fixes: [suggestion('Remove `sharp_enabled_group`', [removeField(text, group)])],
  };
}

function invalidGroup(facts: LayoutFacts, field: Field<string>, group: string): Report {
  return {
    message: `SHARP cannot be used by ${group === '' ? 'a group without a name' : `\`${group}\``}. Use \`dp_replica\`, with two optimizer instances or more.`,
    span: field.span,
    predicts: 'Invalid sharp_enabled_group',
    fixes: [...offFix(facts), ...replicaFix(facts, field)],
  };
}

function* oneInstance(facts: LayoutFacts, group: Field<string>): Iterable<Report> {
  const field = facts.root.parallelism.value?.num_distributed_optimizer_instances;
  if (!field || valueOr(field, 1) !== 1) {
    return;
  }
  yield {
    message: '`dp_replica` is the group across optimizer instances, and there is one instance. Use two or more.',
    span: group.span,
    related: field.written ? [{ message: 'one instance here', span: field.span }] : [],
    predicts: 'dp_replica group requires num_distributed_optimizer_instances > 1',
    fixes: [...offFix(facts), ...replicaFix(facts, group)],
  };
}

/** The group across optimizer instances, made to exist with two of them where there is one. */
function replicaFix({ text, root }: LayoutFacts, group: Field<string>): Fix[] {
  const field = root.parallelism.value?.num_distributed_optimizer_instances;
  const instances = field && (field.value ?? 1) > 1 ? field.value : 2;
  const more =
    field && setKey(text, root.parallelism.span, 'num_distributed_optimizer_instances', field, instances ?? 2);
  const named = setKey(text, root.communicators.span, 'sharp_enabled_group', group, 'dp_replica');
  return more && named ? [suggestion(`Use dp_replica with ${instances} optimizer instances`, [more, named])] : [];
}

/** Switches SHARP off and takes out the group that would use it. */
function offFix({ text, root }: LayoutFacts): Fix[] {
  const options = root.communicators.value;
  if (!options?.use_sharp.written) {
    return [];
  }
  const { use_sharp, sharp_enabled_group } = options;
  const edits = [
    { span: use_sharp.span, newText: 'false' },
    ...(sharp_enabled_group.written ? [removeField(text, sharp_enabled_group)] : []),
  ];
  return [suggestion('Switch `use_sharp` off', edits)];
}

export const sharpDpBroken: Rule = {
  code: 'sharp-dp-broken',
  severity: 'error',
  title: 'SHARP for the data-parallel group does not start',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`use_sharp` is on for the group `dp`, which is also the default of `sharp_enabled_group`.',
  why: 'Megatron-LM runs a barrier in the data-parallel group before that group is kept where the barrier looks for it, and stops every rank. `dp_replica` works.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
communicators:
  use_sharp: true
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  num_distributed_optimizer_instances: 2
communicators:
  use_sharp: true
  sharp_enabled_group: dp_replica
`,
  sources: [
    otherSource('`initialize_model_parallel` and `get_data_parallel_group` in megatron/core/parallel_state.py'),
  ],
  *check(facts) {
    const sharp = sharpOf(facts);
    if (!sharp?.useSharp || (sharp.group.value ?? 'dp') !== 'dp') {
      return;
    }
    const { group, options } = sharp;
    yield {
      message:
        'SHARP for the group `dp` stops Megatron-LM before training begins. Use `dp_replica` with two optimizer instances or more, or switch `use_sharp` off.',
      span: group.written ? group.span : options.use_sharp.span,
      predicts: 'data parallel group with CP (with GTP_remat) is not initialized',
      fixes: [...offFix(facts), ...replicaFix(facts, group)],
    };
  },
};

export const unknownGroup: Rule = {
  code: 'unknown-group',
  severity: 'error',
  title: 'No process group has this name',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`high_priority_stream_groups` names a process group that does not exist. It is a warning where the group exists in other layouts, but not in this one.',
  why: 'Megatron-LM takes any name and never looks at one that it does not know: the communicator that was meant stays on a stream of normal priority.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
communicators:
  high_priority_stream_groups: [dpcp]
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
communicators:
  high_priority_stream_groups: [dp_cp]
`,
  sources: [otherSource('`overwrite_nccl_comm_cfgs` and `get_nccl_options` in megatron/core/parallel_state.py')],
  *check(facts) {
    const groups = facts.root.communicators.value?.high_priority_stream_groups.value ?? [];
    const resolved = groups.length > 0 ? resolveLayout(facts) : null;
    const made = new Set(resolved ? processGroups(resolved).map((family) => family.name) : GROUP_NAMES);
    for (const { value: name, span } of groups) {
      if (name === undefined || made.has(name)) {
        continue;
      }
      yield GROUP_NAMES.includes(name)
        ? { severity: 'warning', message: `This layout makes no group \`${name}\`. Remove it from the list.`, span }
        : { message: unknownMessage(name), span, fixes: nameFixes(name, span) };
    }
  },
};

function unknownMessage(name: string): string {
  const near = nearest(name, GROUP_NAMES);
  const all = GROUP_NAMES.map((one) => `\`${one}\``);
  return `No process group is called \`${name}\`. ${near ? `Did you mean \`${near}\`?` : `They are ${both(all)}.`}`;
}

function nameFixes(name: string, span: Field<string>['span']): Fix[] {
  const near = nearest(name, GROUP_NAMES);
  return near ? [replaceFix(span, near)] : [];
}
