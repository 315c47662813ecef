import { type Command, InvalidArgumentError, Option } from 'commander';

/** The output formats of most commands. */
export type Format = 'text' | 'json' | 'jsonl';

/** `--format` of a command; the first format is the default. */
export function formatOption(...formats: readonly string[]): Option {
  return new Option('-f, --format <format>', 'output format').choices(formats).default(formats[0]);
}

/** A command over any number of layout files that prints text, JSON or JSON lines. */
export function layoutFilesCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(formatOption('text', 'json', 'jsonl'));
}

/** Parses the value of an option that takes a whole number. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const limit = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`;
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`Write a whole number from ${least}${limit}.`);
    }
    return value;
  };
}
