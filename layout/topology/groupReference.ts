import { FRAMEWORKS } from '../frameworks';
import { GROUP_KINDS, type GroupKind, groupKind, MODULE_GROUPS } from './groupKinds';

/** The catalogue of process groups as Markdown: `docs/groups.md`. */
export function groupsMarkdown(): string {
  const rows = GROUP_KINDS.map((kind: GroupKind) => {
    const { name, carries, exists = 'always', description } = kind;
    return `| \`${name}\` | ${membersOf(kind)} | ${carries} | ${exists} | ${code(description)} |`;
  });
  const ofModules = MODULE_GROUPS.filter((name) => groupKind(name)?.spans?.grid === 'dense').map(code);
  return `# Process groups

The groups of \`parallelism\`, by the names of Megatron-LM's communicator options (\`initialize_model_parallel\` in
megatron/core/parallel_state.py at d98e8a64dd; dynamic context parallelism on dev at d48bd6be0a). \`parallelism-layout groups --ranks\`
lists the ranks of each, in the order in which they are created. Groups that exist always may be of one rank. Logs, NCCL errors
and flight-recorder traces show torch's description of a group (last column). The groups of an FSDP mesh are groups above in
another role: Megatron-FSDP makes none.

| group | spans | carries | exists | in logs and traces |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

A module of \`modules\` has the groups of ${ofModules.slice(0, -1).join(', ')} and
${ofModules.at(-1)}, and of its experts, over its own ranks (\`_build_grid\` in examples/mimo/training/topology.py); the language module also has
\`embd\` and \`pos_embd\`; colocated modules of different data-parallel sizes have \`bridge\` groups.
`;
}

const membersOf = ({ members, spans }: GroupKind): string => members ?? spans?.dims.join(', ') ?? '';

/** The names of all process groups, those of other frameworks' meshes too; `N` stands for a number of ranks. */
export function groupKindNames(): string[] {
  const ofMeshes = FRAMEWORKS.flatMap(({ meshes }) => meshes.flatMap(({ groups }) => groups.map(({ name }) => name)));
  return [...new Set([...GROUP_KINDS.map(({ name }) => name), ...ofMeshes])];
}

/**
 * What a process group is for, as Markdown.
 * @param name its name; a number stands for the `N` of `hybrid_dp_cp_N` and `dynamic_dp_cp_N`
 * @returns null where no group has the name
 */
export function groupMarkdown(name: string): string | null {
  const kind = groupKind(name);
  if (!kind) {
    return meshGroupMarkdown(name);
  }
  const { carries, exists = 'always', description } = kind;
  const logged = description === undefined ? '' : `- in logs and traces: ${code(description)}\n`;
  return `# Process group ${name}\n\n- spans: ${membersOf(kind)}\n- carries: ${carries}\n- exists: ${exists}\n${logged}`;
}

/** A process group that only meshes of other frameworks than Megatron-LM have; null where none has it. */
function meshGroupMarkdown(name: string): string | null {
  const lines = FRAMEWORKS.flatMap(({ title, meshes }) =>
    meshes
      .flatMap(({ groups }) => groups)
      .filter((group) => group.name === name)
      .map(({ axes = [name], carries }) => `- ${title}: spans ${axes.join(', ')}; carries ${carries}\n`),
  );
  return lines.length === 0 ? null : `# Process group ${name}\n\n${[...new Set(lines)].join('')}`;
}

const code = (text: string | undefined): string => (text === undefined ? '' : `\`${text}\``);
