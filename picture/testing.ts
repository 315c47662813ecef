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
