import { check, type LayoutFacts, type ResolvedLayout } from '../layout';

/** The layout of a text without its first line, `layout: 1`, and the facts of it. Throws where it does not resolve. */
export function sound(text: string): { readonly facts: LayoutFacts; readonly layout: ResolvedLayout } {
  const { facts, resolved, diagnostics } = check(`layout: 1\n${text}`);
  if (!facts || !resolved) {
    throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  }
  return { facts, layout: resolved };
}

/** The facts of a text without its first line, which need not resolve. */
export function factsOf(text: string): LayoutFacts {
  const { facts } = check(`layout: 1\n${text}`);
  if (!facts) {
    throw new Error('the text has no facts');
  }
  return facts;
}

export const resolved = (text: string): ResolvedLayout => sound(text).layout;

/** One grid with the given degrees over nodes of eight GPUs: `tp: 4, pp: 4`. */
export const onNodes = (nodes: number, degrees: string): ResolvedLayout =>
  resolved(`cluster: {nodes: ${nodes}, gpus_per_node: 8}\nparallelism: {${degrees}}\n`);

/** One grid with the given degrees, on machines that are not known. */
export const gridOf = (ranks: number, degrees: string): ResolvedLayout =>
  resolved(`world_size: ${ranks}\nparallelism: {${degrees}}\n`);

/** Two modules with the given keys: `num_ranks: 4, tp: 2`. */
export const modulesOf = (ranks: number, images: string, language: string): ResolvedLayout =>
  resolved(`world_size: ${ranks}\nmodules:\n  images: {${images}}\n  language: {${language}}\n`);

/** Two replicas, the first without two of its eight TP slots. */
export const PACKED = resolved(
  'world_size: 14\nparallelism: {tp: 8}\nntp: {tp_spares: 2, placement: packed, failed_ranks: [3, 6], non_active_ranks_per_dp: [{dp: 0, local_ranks: [3, 6]}]}\n',
);
