#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { terminalLine } from '../layout';
import { version } from '../package.json';
import { complain, EXIT, watchOutput } from './output';

/** The commands in the order of the help; each is loaded when it is named. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  check: async () => (await import('./check')).addCheckCommand,
  groups: async () => (await import('./groups')).addGroupsCommand,
  import: async () => (await import('./import')).addImportCommand,
  export: async () => (await import('./export')).addExportCommand,
  drift: async () => (await import('./drift')).addDriftCommand,
  compare: async () => (await import('./compare')).addCompareCommand,
  sequence: async () => (await import('./sequence')).addSequenceCommand,
  estimate: async () => (await import('./estimate')).addEstimateCommand,
  plan: async () => (await import('./plan')).addPlanCommand,
  resize: async () => (await import('./resize')).addResizeCommand,
  stages: async () => (await import('./stages')).addStagesCommand,
  ntp: async () => (await import('./ntp')).addNtpCommand,
  smoke: async () => (await import('./smoke')).addSmokeCommand,
  verify: async () => (await import('./verify')).addVerifyCommand,
  draw: async () => (await import('./draw')).addDrawCommand,
  explain: async () => (await import('./explain')).addExplainCommand,
  completion: async () => (await import('./completion')).addCompletionCommand,
  mcp: async () => addMcpCommand,
};

const EXIT_HELP = `
Exit status: 0 nothing found, 1 the layout has errors, or errors or differences
were found, 2 a file or option cannot be used. Colours: NO_COLOR, FORCE_COLOR.

Examples:
  parallelism-layout check jobs/
  parallelism-layout import train.sh > train.layout.yaml
  parallelism-layout groups train.layout.yaml --rank 9`;

const program = new Command('parallelism-layout')
  .description('Check, enumerate and smoke-test the parallelism layout of large GPU training jobs.')
  .version(version, '-v, --version', 'print the version')
  .configureHelp({ subcommandTerm: (command) => command.name() })
  .addHelpText('after', EXIT_HELP)
  .showHelpAfterError('(run with --help for the usage)')
  // error messages quote arguments, which may hold control characters
  .configureOutput({ outputError: (text, write) => write(text.split('\n').map(terminalLine).join('\n')) })
  .exitOverride();

/** Adds the named command; for the help, completion scripts and an unknown name, adds all. */
async function addCommands(name = ''): Promise<void> {
  const isAlone = Object.hasOwn(COMMANDS, name) && name !== 'completion';
  for (const [command, load] of Object.entries(COMMANDS)) {
    if (!isAlone || command === name) {
      (await load())(program);
    }
  }
}

const MCP_HELP = `
Exit status: 0 when the client has gone.

Examples:
  {"mcpServers": {"layouts": {"command": "parallelism-layout", "args": ["mcp"]}}}    in the configuration of a client`;

function addMcpCommand(): void {
  program
    .command('mcp')
    .description('serve these commands over the Model Context Protocol (stdio), on texts that a client sends')
    .addHelpText('after', MCP_HELP)
    // a bundle of its own, so that no other command loads the protocol
    .action(async () => (await import('./mcp.js')).serveMcp());
}

async function main(): Promise<void> {
  watchOutput();
  try {
    await addCommands(process.argv[2]);
    await program.parseAsync(process.argv.map((word, index) => (index === 2 && word === '-V' ? '-v' : word)));
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
      process.exitCode = EXIT.internal;
    } else if (error.exitCode !== 0) {
      process.exitCode = EXIT.unusable;
    }
  }
}

/** Resolves when the command has ended; tests that run the bundle inside their process wait for it. */
export const ended = main();
