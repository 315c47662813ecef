/** The revisions of NVIDIA/Megatron-LM that the rules were taken from. */
const MEGATRON = {
  main: { commit: 'd98e8a64dd', date: '2026-08-22' },
  dev: { commit: 'd48bd6be0a', date: '2026-08-21' },
} as const;

/** A branch of Megatron-LM. Nonuniform TP is on `dev` only. */
type Branch = keyof typeof MEGATRON;

/** A place in Megatron-LM's source, or another authority. */
export type Source =
  | { readonly kind: 'megatron'; readonly branch: Branch; readonly file: string; readonly names: readonly string[] }
  | { readonly kind: 'other'; readonly text: string };

/**
 * Names functions or classes in a file of Megatron-LM's main branch.
 * @param file relative to the repository, such as `megatron/core/parallel_state.py`
 */
export function megatron(file: string, ...names: readonly string[]): Source {
  return { kind: 'megatron', branch: 'main', file, names };
}

/** The same for the branch `dev`. */
export function megatronDev(file: string, ...names: readonly string[]): Source {
  return { kind: 'megatron', branch: 'dev', file, names };
}

/** Names an authority other than Megatron-LM, such as `YAML 1.2`. */
export function otherSource(text: string): Source {
  return { kind: 'other', text };
}

/** The layout format, which is defined by this project. */
export const FORMAT_SOURCE = otherSource('The layout format of this project');

/** A source in Markdown, with its revision. */
export function sourceMarkdown(source: Source): string {
  if (source.kind === 'other') {
    return source.text;
  }
  const { commit, date } = MEGATRON[source.branch];
  const names = source.names.map((name) => `\`${name}\``).join(', ');
  const url = `https://github.com/NVIDIA/Megatron-LM/blob/${commit}/${source.file}`;
  const file = `[${source.file}](${url})`;
  return `${names === '' ? file : `${names} in ${file}`} (${source.branch} at ${commit}, ${date})`;
}
