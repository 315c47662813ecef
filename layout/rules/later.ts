import type { LayoutFacts } from '../topology/facts';

/**
 * Says of a training job that Megatron-LM checks something after its arguments; empty for a file that describes less, of which
 * nobody parses arguments.
 * @param when when it stops, such as `makes its process groups`
 */
export function stopsLater({ trainingScript }: LayoutFacts, when: string): string {
  return trainingScript ? ` Megatron-LM checks this when it ${when}.` : '';
}
