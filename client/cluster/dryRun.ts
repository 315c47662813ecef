import { dirname } from 'node:path';
import type { Launch } from './backend';
import { nameOfKind } from './speeds';

/** Ends a here-document; no line of a plan can be the same, because each begins with a brace, a bracket or a blank. */
const END = 'END_OF_PLAN';

/** Lines of the command are broken at options from this width on. */
const WIDTH = 80;

/**
 * What a launch would do, as a shell script that does the same where a person runs it.
 * @param title what the run is of, and where
 */
export function dryRunScript(launch: Launch, title: string): string {
  const { plan, notes, backend } = launch;
  const groups = plan.groups.flatMap(({ name, module, ranks }) => {
    const talking = ranks.filter(({ length }) => length > 1);
    const size = Math.max(0, ...talking.map(({ length }) => length));
    return talking.length > 0 ? [`  ${nameOfKind({ kind: name, module })}: ${talking.length} x ${size} ranks`] : [];
  });
  const comments = [
    `${title}. Nothing has run.`,
    ...notes,
    `${plan.world_size} ranks with ${backend}; checks: ${plan.checks.join(', ')}. Process groups of more than one rank:`,
    ...groups,
  ];
  return [
    '#!/bin/sh',
    // a control character in a name must not end the comment
    ...comments.map((line) => `# ${line.replaceAll(/\p{Cc}/gu, ' ')}`),
    '',
    ...(launch.script ?? localScript(launch)),
    '',
  ].join('\n');
}

/** A job that reads the plan from a file of this machine. */
function localScript(launch: Launch): string[] {
  return [
    '# the plan, which is all that the job knows of the layout',
    `mkdir -p ${shellWord(`${dirname(launch.planFile)}/ranks`)}`,
    `cat > ${shellWord(launch.planFile)} <<'${END}'`,
    planText(launch),
    END,
    '',
    '# the job',
    shellCommand(launch.command),
  ];
}

/** The plan with a line for every setting and every family of groups. */
function planText({ plan: { groups, ...settings } }: Launch): string {
  const lines = Object.entries(settings).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  const families = groups.map((family) => `    ${JSON.stringify(family)}`);
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

/** A word as a POSIX shell reads it back: for people to copy, never for us to run. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
