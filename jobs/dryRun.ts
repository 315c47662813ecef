import { jsonText, shellWord, terminalLine } from '../layout';
import type { Launch, RunFile } from './backend';
import type { SmokePlan } from './plan';
import { nameOfKind } from './speeds';

/** Ends a here-document. */
const END = 'END_OF_FILE';

/** The width from which lines are broken, in characters. */
const WIDTH = 80;

/** The process groups of one kind that have more than one rank. */
interface KindOfGroups {
  readonly kind: string;
  readonly groups: number;
  /** Ranks of the largest. */
  readonly ranks: number;
}

/** The process groups that a run makes, by kind in the order of creation; those of one rank are left out. */
export function kindsOfGroups({ groups }: SmokePlan): readonly KindOfGroups[] {
  return groups.flatMap(({ name, module, ranks }) => {
    const talking = ranks.map(({ length }) => length).filter((length) => length > 1);
    const most = talking.reduce((largest, length) => Math.max(largest, length), 0);
    return most > 0 ? [{ kind: nameOfKind({ kind: name, module }), groups: talking.length, ranks: most }] : [];
  });
}

/**
 * A launch as a shell script that does the same.
 * @param title the subject and the place of the run
 */
export function dryRunScript(launch: Launch, title: string): string {
  const { plan, notes, backend, place } = launch;
  const groups = kindsOfGroups(plan).map(({ kind, groups: count, ranks }) => `${kind} ${count} x ${ranks}`);
  const comments = [
    `${title}. Nothing has run.`,
    ...(place?.host === undefined ? [] : [`It runs on ${place.host}, to which ssh copies these files.`]),
    ...notes,
    `${plan.world_size} ranks with ${backend}; checks: ${plan.checks.join(', ')}.`,
    'Process groups of more than one rank, as `kind groups x ranks`:',
    ...wrapped(groups, ', ').map((line) => `  ${line}`),
  ];
  return [
    // a line break in a name must not end the comment
    ...comments.map((line) => `# ${terminalLine(line)}`),
    '',
    ...(launch.script ?? filesAndCommand(launch)),
    '',
  ].join('\n');
}

/** The script of a job whose command reads the plan and other files in its directory. */
function filesAndCommand(launch: Launch): string[] {
  return [
    ...folderLines(launch),
    '',
    '# the plan: all that the job knows of the layout',
    ...fileLines({ path: launch.planFile, text: planText(launch) }),
    ...launch.files.flatMap((file) => ['', ...fileLines(file)]),
    '',
    '# the job',
    `exec ${shellCommand(launch.command)}`,
  ];
}

function folderLines({ place }: Launch): string[] {
  if (!place) {
    return [
      '# a private folder, which the job removes at its end',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell reads it
      'cd "$(mktemp -d "${TMPDIR:-/tmp}/parallelism-layout-smoke-XXXXXXXX")" || exit',
    ];
  }
  return [
    'umask 077',
    `mkdir -p ${shellPath(`${place.folder}/job`)}`,
    `cp ${shellPath(place.jobFolder)}/*.py ${shellPath(`${place.folder}/job`)}`,
    `cd ${shellPath(place.folder)} || exit`,
  ];
}

/** The lines that write a file literally. */
function fileLines({ path, text }: RunFile): string[] {
  const lines = text.replace(/\n$/, '').split('\n');
  let end = END;
  while (lines.includes(end)) {
    end += '_';
  }
  return [`cat > ${shellPath(path)} <<'${end}'`, ...lines, end];
}

/** Joins words into lines of about WIDTH characters; only a line that `breaksBefore` allows begins with a word. */
function wrapped(words: readonly string[], separator: string, breaksBefore = (_: string) => true): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || (breaksBefore(word) && last.length + word.length >= WIDTH)) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = last + separator + word;
    }
  }
  return lines;
}

/** The plan with one line for each setting and each family of groups. */
function planText({ plan: { groups, ...settings } }: Launch): string {
  const lines = Object.entries(settings).map(([key, value]) => `  ${jsonText(key)}: ${jsonText(value)}`);
  const families = groups.map((family) => `    ${jsonText(family)}`);
  return `{\n${lines.join(',\n')},\n  "groups": [\n${families.join(',\n')}\n  ]\n}`;
}

/** A command over as many lines as it needs, broken before options. */
export function shellCommand(command: readonly string[]): string {
  return wrapped(command.map(shellWord), ' ', (word) => word.startsWith('-')).join(' \\\n  ');
}

/** A path as a word of a shell, which expands a leading `~/`. */
function shellPath(path: string): string {
  return path.startsWith('~/') ? `~/${shellWord(path.slice(2))}` : shellWord(path);
}
