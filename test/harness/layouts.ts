import { type CommBackend, type SmokePlan, smokePlan, type VerifiableLayout } from '../../jobs';
import { check } from '../../layout';

/** A layout that must not have errors. */
export function soundLayout(text: string): VerifiableLayout {
  const checked = check(text);
  const { facts, resolved } = checked;
  if (!facts || !resolved) {
    throw new Error(`the layout has errors: ${checked.diagnostics.map(({ message }) => message).join(' ')}`);
  }
  return { ...checked, facts, resolved };
}

/** The plan of the smoke job of a layout that must not have errors. */
export function planOf(text: string, file = 'x.layout.yaml', backend: CommBackend = 'gloo'): SmokePlan {
  const { resolved, facts } = soundLayout(text);
  return smokePlan(resolved, facts, file, backend);
}

/** A dense layout of 16 GPUs whose memory and time are known. */
export const COSTED_LAYOUT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
parallelism:
  tp: 4
  pp: 2
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, num_query_groups: 8, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;
