#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { terminalLine } from '../layout';
import { version } from '../package.json';
import { complain, EXIT, watchOutput } from './output';

/** The commands in the order of the help; what one needs is loaded when it is named. */
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
  stages: async () => (await import('./stages')).addStagesCommand,
  ntp: async () => (await import('./ntp')).addNtpCommand,
  smoke: async () => (await import('./smoke')).addSmokeCommand,
  verify: async () => (await import('./verify')).addVerifyCommand,
  draw: async () => (await import('./draw')).addDrawCommand,
  explain: async () => (await import('./explain')).addExplainCommand,
  completion: async () => (await import('./completion')).addCompletionCommand,
  mcp: async () => addMcpCommand,
};

const program = new Command('parallelism-layout')
  .description('Check, enumerate and smoke-test the parallelism layout of large GPU training jobs.')
  .version(version)
  .showHelpAfterError('(run with --help for the usage)')
  // what is wrong with an argument quotes it
  .configureOutput({ outputError: (text, write) => write(text.split('\n').map(terminalLine).join('\n')) })
  .exitOverride();

/** Adds the command that is named; all for the help, for completion scripts and for a name that is unknown. */
async function addCommands(name = ''): Promise<void> {
  const isAlone = Object.hasOwn(COMMANDS, name) && name !== 'completion';
  for (const [command, load] of Object.entries(COMMANDS)) {
    if (!isAlone || command === name) {
      (await load())(program);
    }
  }
}

function addMcpCommand(): void {
  program
    .command('mcp')
    .description(
      'serve check, groups, estimate, plan, explain, import and drift to an assistant (Model Context Protocol over stdio)',
    )
    // a bundle of its own, so that no other command loads the protocol
    .action(async () => (await import('./mcp.js')).serveMcp());
}

async function main(): Promise<void> {
  await addCommands(process.argv[2]);
  await program.parseAsync();
}

watchOutput();

main().catch((error: unknown) => {
  if (!(error instanceof CommanderError)) {
    complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = EXIT.internal;
  } else if (error.exitCode !== 0) {
    process.exitCode = EXIT.unusable;
  }
});
