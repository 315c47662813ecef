#!/usr/bin/env node
// An executable for @vscode/test-electron in place of the desktop editor: takes the same arguments, runs the tests in the server's
// extension host, and ends with the same exit code. Name it in VSCODE_EXECUTABLE.
import { runInExtensionHost } from './extensionHost.ts';

const value = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3) ?? '';

process.exit(
  await runInExtensionHost({
    extension: value('extensionDevelopmentPath'),
    tests: value('extensionTestsPath'),
    workspace: process.argv.slice(2).find((argument) => !argument.startsWith('-')) ?? '',
  }),
);
