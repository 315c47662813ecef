import { expect, test } from 'vitest';
import { check, isOfText } from './check';
import { namedLaunchFiles, notCompared, saidDifferences, wordAt } from './outside';
import { levelsOfSettings } from './service';

const TEXT = `layout: 1
world_size: 8
launch: {family: megatron-lm, files: [train.sh, other.sh]}
parallelism: {tp: 4}
`;
const UNWRITTEN = { message: 'train.sh says pp 2', layout: { offset: null } };
const WRITTEN = { message: 'train.sh says tp 8', layout: { offset: TEXT.indexOf('4}') } };

const shown = (text: string, { start, end }: { start: number; end: number }) => text.slice(start, end);

test('launch files are found by name and place, up to a limit', () => {
  expect(namedLaunchFiles(check(TEXT)).map(({ name, span }) => [name, shown(TEXT, span)])).toEqual([
    ['train.sh', 'train.sh'],
    ['other.sh', 'other.sh'],
  ]);
  const many = TEXT.replace('other.sh', Array.from({ length: 40 }, (_, i) => `f${i}.sh`).join(', '));
  expect(namedLaunchFiles(check(many))).toHaveLength(16);
  expect(namedLaunchFiles(check('layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n'))).toEqual([]);
});

test('a difference stands at the value of the layout, else where the layout names the launch file', () => {
  const checked = check(TEXT);
  const [named] = namedLaunchFiles(checked);
  const said = named ? saidDifferences(checked, named.span, [UNWRITTEN, WRITTEN]) : [];
  expect(said.map(({ difference, diagnostic }) => [difference.message, shown(TEXT, diagnostic.span)])).toEqual([
    [UNWRITTEN.message, 'train.sh'],
    [WRITTEN.message, '4'],
  ]);
});

test.each([
  ['a comment on the line', TEXT.replace('files: [train.sh, other.sh]}', '$& # layout-ignore: launch-drift'), {}],
  ['the severities', TEXT, { 'launch-drift': 'off' }],
])('%s silences the note that a file is not compared', (_, text, levels) => {
  const checked = check(text, levelsOfSettings(levels));
  const [named] = namedLaunchFiles(checked);
  expect(named && notCompared(checked, named, 'it starts no job')).toBeNull();
});

test('a file that is not compared is a note where the layout names it', () => {
  const checked = check(TEXT);
  const [named] = namedLaunchFiles(checked);
  expect(named && notCompared(checked, named, 'it starts no job')).toMatchObject({
    code: 'launch-drift',
    severity: 'information',
    message: 'This layout is not compared with train.sh: it starts no job.',
    span: named?.span,
  });
});

test.each([
  ['--tp 8 --pp 2', 5, '8'],
  ['#SBATCH --nodes=2\nsrun x', 0, '#SBATCH --nodes=2'],
  ['N=$((2 * 4)) x', 2, '$((2 * 4))'],
  ['a, b', 1, ','],
  ['abc', 3, ''],
])('the value in %j at %i is %j', (text, offset, word) => {
  expect(shown(text, wordAt(text, offset))).toBe(word);
});

test('whether a layout can run follows from its text, not from what other files say', () => {
  expect(isOfText({ code: 'launch-drift' })).toBe(false);
  expect(isOfText({ code: 'dense-factorization' })).toBe(true);
});
