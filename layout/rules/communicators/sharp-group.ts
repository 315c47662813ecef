import { setKey } from '../../format/edit';
import { valueOr } from '../../topology/facts';
import { removeFix, suggestion } from '../fixes';
import { writtenRelated } from '../related';
import { job, PARALLEL_STATE, type Rule } from '../rule';
import { replicaGroupFix, sharpOf, sharpOffFix } from './sharp';

const SHARP_GROUPS = ['dp', 'dp_replica'];

export const sharpGroup: Rule = {
  code: 'sharp-group',
  severity: 'error',
  title: 'This group cannot use SHARP',
  what: '`sharp_enabled_group` is written without `use_sharp`; it is neither `dp` nor `dp_replica`; or it is `dp_replica` while there is one optimizer instance.',
  why: 'SHARP reduces in the network switches for one kind of group: the data-parallel group, or the group across optimizer instances.',
  failing: job(16, 'tp: 2', 'communicators: {use_sharp: true, sharp_enabled_group: dp_replica}'),
  passing: job(
    16,
    'tp: 2, num_distributed_optimizer_instances: 2',
    'communicators: {use_sharp: true, sharp_enabled_group: dp_replica}',
  ),
  sources: [PARALLEL_STATE],
  *check(facts) {
    const sharp = sharpOf(facts);
    const group = sharp?.group.value;
    if (!sharp || group === undefined) {
      return;
    }
    const { use_sharp: use } = sharp.options;
    const instances = facts.root.parallelism.value?.num_distributed_optimizer_instances;
    const fixes = [sharpOffFix(facts), replicaGroupFix(facts, sharp.group)];
    if (!sharp.useSharp) {
      yield {
        message: 'sharp_enabled_group needs use_sharp true. Remove sharp_enabled_group, or use use_sharp true.',
        span: sharp.group.span,
        related: use.written ? [{ message: 'use_sharp is false here', span: use.span }] : [],
        predicts: 'sharp_enabled_group is only valid when use_sharp is True',
        fixes: [
          removeFix(facts.text, 'sharp_enabled_group', sharp.group),
          suggestion('Use use_sharp true', [
            setKey(facts.text, facts.root.communicators.span, 'use_sharp', use, 'true'),
          ]),
        ],
      };
    } else if (!SHARP_GROUPS.includes(group)) {
      yield {
        message: `${group === '' ? 'A group without a name' : `The group '${group}'`} cannot use SHARP. Use dp_replica with 2 or more optimizer instances, or use_sharp false.`,
        span: sharp.group.span,
        predicts: 'Invalid sharp_enabled_group',
        fixes,
      };
    } else if (group === 'dp_replica' && instances && valueOr(instances, 1) === 1) {
      yield {
        message:
          'dp_replica needs 2 or more optimizer instances, and there is 1. Use num_distributed_optimizer_instances 2, or use_sharp false.',
        span: sharp.group.span,
        related: writtenRelated('num_distributed_optimizer_instances', instances),
        predicts: 'dp_replica group requires num_distributed_optimizer_instances > 1',
        fixes,
      };
    }
  },
};
