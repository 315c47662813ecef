import { Argument, type Command, type Option } from 'commander';
import { groupKindNames, keyNames, posixQuoted, RULES } from '../layout';
import { print } from './output';

/** A command as the completion scripts need it. */
interface Completed {
  readonly name: string;
  readonly description: string;
  readonly options: readonly CompletedOption[];
  /** What its first argument can be, beside files; empty for files alone. */
  readonly names: readonly string[];
}

interface CompletedOption {
  /** Each way to write it: `-q`, `--quiet`. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** The values that it takes; empty for any. */
  readonly choices: readonly string[];
  /** What a shell runs for the values. */
  readonly command?: string;
}

const SHELLS = { bash, zsh, fish } as const;

/** Values of options that a layout or a file decides, as far as they are known without it. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  '--group': groupKindNames(),
  '--colour': ['module', 'ntp', 'tp', 'cp', 'pp', 'dp', 'ep', 'expt_tp', 'expt_dp', 'node', 'nvlink'],
};

/** What prints the clusters of the files that lie here, for a shell to complete. */
const CLUSTERS = '$(parallelism-layout cluster-names 2>/dev/null)';

/** Adds `completion`: a script that completes commands, options and their values in a shell. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and their values')
    .addArgument(new Argument('<shell>', 'the shell that the script is for').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP)
    .action((shell: keyof typeof SHELLS) => print([SHELLS[shell](completedCommands(program))]));
}

const HELP = `
Exit status: 0 printed, 2 there is no such shell.

Examples:
  bash   eval "$(parallelism-layout completion bash)"      in ~/.bashrc
  zsh    eval "$(parallelism-layout completion zsh)"       in ~/.zshrc, after compinit
  fish   parallelism-layout completion fish | source       in ~/.config/fish/config.fish`;

function completedCommands(program: Command): Completed[] {
  const help = program.createHelp();
  return help
    .visibleCommands(program)
    .filter((command) => command.name() !== 'help')
    .map((command) => ({
      name: command.name(),
      description: command.description(),
      options: help.visibleOptions(command).map(completedOption),
      names: namesOf(command),
    }));
}

function completedOption({ short, long, description, argChoices, required, optional }: Option): CompletedOption {
  return {
    flags: [short, long].filter((flag) => flag !== undefined),
    description: description ?? '',
    takesValue: required || optional,
    choices: argChoices ?? (VALUES[long ?? ''] ?? []).filter(isPlain),
    ...(long === '--cluster' && { command: CLUSTERS }),
  };
}

function namesOf(command: Command): readonly string[] {
  if (command.name() === 'explain') {
    return [...new Set([...RULES.map(({ code }) => code), ...keyNames(), ...groupKindNames()])].filter(isPlain);
  }
  return command.registeredArguments[0]?.argChoices ?? [];
}

/** Whether a name means nothing to a shell. */
const isPlain = (name: string) => /^[\w.-]+$/.test(name);

function bash(commands: readonly Completed[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(
        ({ flags, choices, command }) =>
          `    ${flags.map((flag) => `'${name} ${flag}'`).join(' | ')}) ${command ? `words="${command}"` : choices.length > 0 ? `words='${choices.join(' ')}'` : 'return'} ;;`,
      ),
  );
  const words = commands.map(
    ({ name, options, names }) =>
      `    ${name}) flags='${options.flatMap(({ flags }) => flags).join(' ')}' words='${names.join(' ')}' ;;`,
  );
  return `# bash completion of parallelism-layout
_parallelism_layout() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} words='' flags=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} --help --version' -- "$cur"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${words.join('\n')}
  esac
  case "\${COMP_WORDS[1]} $prev" in
${values.join('\n')}
    *) case "$cur" in -*) words=$flags ;; esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _parallelism_layout parallelism-layout
`;
}

/** A description where zsh would read brackets and colons. */
const zshText = (text: string) => text.replace(/[[\]:\\]/g, '\\$&');

function zsh(commands: readonly Completed[]): string {
  const list = commands.map(({ name, description }) => `    ${posixQuoted(`${name}:${zshText(description)}`)}`);
  const cases = commands.map(({ name, options, names }) => {
    const argument = names.length > 0 ? `*:name:(${names.join(' ')})` : '*:file:_files';
    return `    ${name})\n      _arguments \\\n${[...options.map(zshOption), `        ${posixQuoted(argument)}`].join(' \\\n')}\n      ;;`;
  });
  return `#compdef parallelism-layout
_parallelism_layout() {
  local -a commands=(
${list.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _parallelism_layout parallelism-layout
`;
}

function zshOption({ flags, description, takesValue, choices, command }: CompletedOption): string {
  const value = command
    ? `:value:{compadd -- ${command}}`
    : choices.length > 0
      ? `:value:(${choices.join(' ')})`
      : ':value:_files';
  const rest = `[${zshText(description)}]${takesValue ? value : ''}`;
  const names = flags.length > 1 ? `${posixQuoted(`(${flags.join(' ')})`)}{${flags.join(',')}}` : (flags[0] ?? '');
  return `        ${names}${posixQuoted(rest)}`;
}

function fish(commands: readonly Completed[]): string {
  const complete = 'complete -c parallelism-layout';
  const lines = commands.flatMap(({ name, description, options, names }) => [
    `${complete} -n __fish_use_subcommand -f -a ${name} -d ${fishText(description)}`,
    ...options.map((option) => `${complete} -n '__fish_seen_subcommand_from ${name}' ${fishOption(option)}`),
    ...(names.length > 0 ? [`${complete} -n '__fish_seen_subcommand_from ${name}' -f -a '${names.join(' ')}'`] : []),
  ]);
  return `# fish completion of parallelism-layout\n${lines.join('\n')}\n`;
}

function fishOption({ flags, description, takesValue, choices, command }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(' ');
  const value = command
    ? `-x -a '${command.slice(1).replace(' 2>/dev/null', '')}'`
    : choices.length > 0
      ? `-x -a '${choices.join(' ')}'`
      : '-r';
  return `${names} ${takesValue ? `${value} ` : ''}-d ${fishText(description)}`;
}

/** A text in the single quotes of fish, which have escapes. */
const fishText = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
