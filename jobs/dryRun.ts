import { jsonText, shellWord, terminalLine } from '../layout';
import type { Launch, RunFile } from './backend';
import { nameOfKind } from './speeds';

/** Ends a here-document. */
const END = 'END_OF_FILE';

/** Lines are broken from this width on. */
const WIDTH = 80;

/**
 * What a launch would do, as a shell script that does the same where a person runs it.
 * @param title what the run is of, and where
 */
export function dryRunScript(launch: Launch, title: string): string {
  const { plan, notes, backend, place } = launch;
  const groups = plan.groups.flatMap(({ name, module, ranks }) => {
    const talking = ranks.filter(({ length }) => length > 1);
    const size = talking.reduce((most, { length }) => Math.max(most, length), 0);
    return talking.length > 0 ? [`${nameOfKind({ kind: name, module })} ${talking.length} x ${size}`] : [];
  });
  const comments = [
    `${title}. Nothing has run.`,
    ...(place?.host === undefined ? [] : [`It runs on ${place.host}, to which ssh copies these files.`]),
    ...notes,
    `${plan.world_size} ranks with ${backend}; checks: ${plan.checks.join(', ')}.`,
    'Process groups of more than one rank, each kind with how many there are and of how many ranks:',
    ...wrapped(groups).map((line) => `  ${line}`),
  ];
  return [
    // a control character in a name must not end the comment
    ...comments.map((line) => `# ${terminalLine(line)}`),
    '',
    ...(launch.script ?? filesAndCommand(launch)),
    '',
  ].join('\n');
}

/** A job that reads the plan and its other files where its command runs. */
function filesAndCommand(launch: Launch): string[] {
  return [
    ...folderLines(launch),
    '',
    '# the plan, which is all that the job knows of the layout',
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
    `cp ${shellPath(place.job)}/*.py ${shellPath(`${place.folder}/job`)}`,
    `cd ${shellPath(place.folder)} || exit`,
  ];
}

/** Writes a file as it is, whatever it holds. */
function fileLines({ path, text }: RunFile): string[] {
  const lines = text.replace(/\n$/, '').split('\n');
  let end = END;
  while (lines.includes(end)) {
    end += '_';
  }
  return [`cat > ${shellPath(path)} <<'${end}'`, ...lines, end];
}

/** A list over as many lines as it needs. */
function wrapped(items: readonly string[]): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last === undefined || last.length + item.length >= WIDTH) {
      lines.push(item);
    } else {
      lines[lines.length - 1] = `${last}, ${item}`;
    }
  }
  return lines;
}

/** The plan with a line for every setting and every family of groups. */
function planText({ plan: { groups, ...settings } }: Launch): string {
  const lines = Object.entries(settings).map(([key, value]) => `  ${jsonText(key)}: ${jsonText(value)}`);
  const families = groups.map((family) => `    ${jsonText(family)}`);
  return `{\n${lines.join(',\n')},\n  "groups": [\n${families.join(',\n')}\n  ]\n}`;
}

/** A command over as many lines as it needs, broken before options. */
export function shellCommand(command: readonly string[]): string {
  const lines: string[] = [];
  for (const word of command.map(shellWord)) {
    const last = lines.at(-1);
    const breaks = last === undefined || (word.startsWith('-') && last.length + word.length >= WIDTH);
    if (breaks) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = `${last} ${word}`;
    }
  }
  return lines.join(' \\\n  ');
}

/** A path as a word of a shell; one below the home directory stays below it. */
function shellPath(path: string): string {
  return path.startsWith('~/') ? `~/${shellWord(path.slice(2))}` : shellWord(path);
}
