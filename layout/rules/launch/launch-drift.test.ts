import { expect, test } from 'vitest';
import { check } from '../../check';
import { driftBetween } from '../../launch/drift';
import { readLaunchFile } from '../../launch/read';
import { saidDifferences } from '../../outside';
import { levelsOfSettings } from '../../service';
import { launchDrift } from './launch-drift';

/** What is said on a layout of its differences from `train.sh`, as the checker prints it. */
function printed(layout: string, launch: string, rules: unknown = {}): string[] {
  const checked = check(layout, levelsOfSettings(rules));
  const reading = readLaunchFile('train.sh', launch, () => null);
  const { differences } = driftBetween('a.layout.yaml', layout, reading);
  return saidDifferences(checked, { start: 0, end: 1 }, differences).map(({ diagnostic }) => {
    const { line, character } = checked.lines.positionAt(diagnostic.span.start);
    return `${line + 1}:${character + 1}: ${diagnostic.severity}[${diagnostic.code}]: ${diagnostic.message}`;
  });
}

test('its page shows what is printed of its files', () => {
  const { failing, passing = '', beside } = launchDrift;
  expect(printed(failing, beside?.text ?? '')).toEqual([beside?.said]);
  expect(printed(passing, beside?.text ?? '')).toEqual([]);
});

const DIFFERENT = 'layout: 1\nworld_size: 8\nparallelism: {tp: 4}\n';
const SCRIPT = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8';

test.each([
  ['nothing', DIFFERENT, {}, 'warning'],
  [
    'a comment on the line',
    DIFFERENT.replace('}', '} # layout-ignore: launch-drift the script is for 8 GPUs'),
    {},
    null,
  ],
  ['a comment on another line', DIFFERENT.replace('8', '8 # layout-ignore: launch-drift'), {}, 'warning'],
  ['its severity', DIFFERENT, { 'launch-drift': 'error' }, 'error'],
  ['its severity off', DIFFERENT, { 'launch-drift': 'off' }, null],
])('launch-drift with %s', (_, layout, rules, severity) => {
  expect(printed(layout, SCRIPT, rules).map((line) => /\w+(?=\[)/.exec(line)?.[0])).toEqual(severity ? [severity] : []);
  expect(check(layout).diagnostics).toEqual([]);
});
