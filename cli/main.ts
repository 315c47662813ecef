#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { terminalLine } from '../layout';
import { version } from '../package.json';
import { addCheckCommand } from './check';
import { addCompareCommand } from './compare';
import { addCompletionCommand } from './completion';
import { addDrawCommand } from './draw';
import { addDriftCommand } from './drift';
import { addEstimateCommand } from './estimate';
import { addExplainCommand } from './explain';
import { addExportCommand } from './export';
import { addGroupsCommand } from './groups';
import { addImportCommand } from './import';
import { addNtpCommand } from './ntp';
import { complain, EXIT, watchOutput } from './output';
import { addPlanCommand } from './plan';
import { addSequenceCommand } from './sequence';
import { addSmokeCommand } from './smoke';
import { addStagesCommand } from './stages';
import { addVerifyCommand } from './verify';

const program = new Command('parallelism-layout')
  .description('Check, enumerate and smoke-test the parallelism layout of large GPU training jobs.')
  .version(version)
  .showHelpAfterError('(run with --help for the usage)')
  // what is wrong with an argument quotes it
  .configureOutput({ outputError: (text, write) => write(text.split('\n').map(terminalLine).join('\n')) })
  .exitOverride();

addCheckCommand(program);
addGroupsCommand(program);
addImportCommand(program);
addExportCommand(program);
addDriftCommand(program);
addCompareCommand(program);
addSequenceCommand(program);
addEstimateCommand(program);
addPlanCommand(program);
addStagesCommand(program);
addNtpCommand(program);
addSmokeCommand(program);
addVerifyCommand(program);
addDrawCommand(program);
addExplainCommand(program);
addCompletionCommand(program);
program
  .command('mcp')
  .description(
    'serve check, groups, estimate, plan, explain, import and drift to an assistant (Model Context Protocol over stdio)',
  )
  // a bundle of its own, so that no other command loads the protocol
  .action(async () => (await import('./mcp.js')).serveMcp());

watchOutput();

program.parseAsync().catch((error: unknown) => {
  if (!(error instanceof CommanderError)) {
    complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = EXIT.internal;
  } else if (error.exitCode !== 0) {
    process.exitCode = EXIT.unusable;
  }
});
