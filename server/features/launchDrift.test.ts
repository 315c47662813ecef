import { expect, test } from 'vitest';
import type { Connection } from 'vscode-languageserver';
import { check } from '../../layout';
import * as engine from '../../layout/launch';
import { Configurations } from '../configurations';
import { Documents } from '../documents';
import type { Files } from '../files';
import type { LaunchFiles, LaunchState } from '../launchFiles';
import { URI } from '../testing';
import { LaunchDrift } from './launchDrift';
import { SharedDiagnostics } from './sharedDiagnostics';

const SCRIPT = 'file:///jobs/train.sh';
const FLAGS = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --seq-length $LENGTH\n';

const layout = (tp: string) =>
  check(
    `layout: 1\nworld_size: 8\nlaunch: {family: megatron-lm, files: [train.sh]}\nparallelism: {tp: ${tp}}\nsequence: {seq_length: 64}\n`,
  );

const hostile = check(
  'layout: 1\nworld_size: 8\nlaunch: {family: megatron-lm, files: ["$(check) \\u202e.sh"]}\nparallelism: {tp: 4}\nsequence: {seq_length: 64}\n',
);

/** What is said of layouts beside a launch file of which this is known. */
function drift(state: LaunchState): LaunchDrift {
  const connection = { sendDiagnostics: () => undefined } as unknown as Connection;
  const shared = new SharedDiagnostics(connection);
  const documents = new Documents(new Configurations(connection, shared, {} as Files));
  const launchFiles = {
    onDidChange: () => undefined,
    version: 1,
    addressOf: () => ({ uri: SCRIPT, root: 'file:///jobs' }),
    state: () => state,
    settled: async () => undefined,
  } as unknown as LaunchFiles;
  return new LaunchDrift(connection, documents, launchFiles, shared, false, () => undefined);
}

const read = (text: string): LaunchState => ({
  kind: 'read',
  reading: engine.readLaunchFile('/jobs/train.sh', text, () => null),
  engine,
});

test('a difference is a warning on the value of the layout, with the place in the script', () => {
  const checked = layout('2');
  const [found, ...others] = drift(read(FLAGS)).diagnostics(URI, checked);
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    code: 'launch-drift',
    message: 'train.sh says tp 4 (--tensor-model-parallel-size, line 1); this layout says tp 2.',
    range: { start: { line: 3, character: 18 }, end: { line: 3, character: 19 } },
  });
  expect(found?.relatedInformation?.map(({ location, message }) => [location.uri, message])).toEqual([
    [SCRIPT, expect.stringContaining('this file says tp 4.')],
  ]);
});

test.each([
  ['2', '1 difference from train.sh; 1 value unknown'],
  ['4', 'matches train.sh; 1 value unknown'],
  ['2 # layout-ignore: launch-drift a trial\n ', 'matches train.sh; 1 ignored; 1 value unknown'],
])('the lens of a layout with tp: %s says: %s', async (tp, title) => {
  const lenses = await drift(read(FLAGS)).lenses(URI, layout(tp), 'compare');
  expect(lenses.map(({ command }) => command)).toEqual([{ title, command: 'compare', arguments: [URI, SCRIPT] }]);
});

test('a name of a launch file makes no icon of a lens, and turns no text around', async () => {
  const lenses = await drift(read(FLAGS)).lenses(URI, hostile, 'compare');
  expect(lenses.map(({ command }) => command?.title)).toEqual(['matches $ (check) \\u202e.sh; 1 value unknown']);
});

test('a file that is not compared is named with the reason', () => {
  const reasons = [{ kind: 'unreadable' } as const, read('echo nothing\n')].flatMap((state) =>
    drift(state)
      .diagnostics(URI, layout('2'))
      .map(({ message }) => message),
  );
  expect(reasons).toEqual([expect.stringContaining('it is missing'), expect.stringContaining(engine.STARTS_NO_JOB)]);
  expect(drift({ kind: 'pending' }).diagnostics(URI, layout('2'))).toEqual([]);
});
