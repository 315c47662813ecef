import { removeFix, setFix } from '../fixes';
import { job, megatron, type Rule } from '../rule';
import { requestsOf } from './requests';

export const fsdpNotEnabled: Rule = {
  code: 'fsdp-not-enabled',
  severity: 'warning',
  title: 'Options of FSDP without FSDP',
  effect: 'nothing is sharded, and the options have no effect',
  what: '`fsdp` asks for all-gather groups or names a sharding strategy while `enabled` is false or left out.',
  why: 'The job keeps whole parameters on every rank, so it does not save the memory that the author expects.',
  failing: job(16, 'tp: 2', 'fsdp: {create_all_gather_group: true}'),
  sources: [megatron('megatron/training/training.py', 'get_megatron_ddp_config')],
  *check(facts) {
    const { root, text } = facts;
    const fsdp = root.fsdp.value;
    // an unusable `enabled` has its own diagnostic
    if (!fsdp || fsdp.enabled.value === true || (fsdp.enabled.written && fsdp.enabled.value === undefined)) {
      return;
    }
    const { enabled, data_parallel_sharding_strategy: strategy } = fsdp;
    const shards = strategy.value !== undefined && strategy.value !== 'no_shard';
    const [first] = requestsOf(facts);
    const field = first?.field ?? (shards ? strategy : undefined);
    if (!field) {
      return;
    }
    const name = first?.name ?? 'data_parallel_sharding_strategy';
    yield {
      message: `${name} has no effect while FSDP is off. Write enabled true, or remove ${name}.`,
      span: field.span,
      related: enabled.written ? [{ message: 'enabled is false here', span: enabled.span }] : [],
      fixes: [setFix(text, root.fsdp.span, 'enabled', enabled, 'true'), removeFix(text, name, field)],
    };
  },
};
