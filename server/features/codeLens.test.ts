import { expect, test } from 'vitest';
import { check } from '../../layout';
import { URI } from '../testing';
import { codeLenses } from './codeLens';

const COMMANDS = { showGrid: 'grid', runSmokeJob: 'smoke' };

/** The lenses of a layout: the line, from 1, and the title. */
const lenses = (text: string, commands = {}) =>
  codeLenses(URI, check(text), commands).map(({ range, command }) => `${range.start.line + 1}: ${command?.title}`);

test.each<readonly [what: string, text: string, commands: object, expected: readonly string[]]>([
  [
    'ranks and groups of the grid',
    'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    {},
    ['3: 8 ranks, 37 process groups'],
  ],
  [
    'commands, where the client has them',
    '# a\nlayout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    COMMANDS,
    ['2: Show Rank Grid', '2: Run Smoke Job', '4: 8 ranks, 37 process groups'],
  ],
  [
    'what keeps a smoke job from running',
    'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n',
    COMMANDS,
    ['1: Show Rank Grid', '1: Run Smoke Job: fix 1 error first', '3: 8 ranks'],
  ],
  [
    'each module',
    'layout: 1\nworld_size: 8\nmodules:\n  images: {num_ranks: 4}\n  language: {num_ranks: 4, rank_offset: 4}\n',
    {},
    ['4: 4 ranks, 8 process groups', '5: 4 ranks, 8 process groups'],
  ],
  [
    'with what an empty file can begin',
    '\n',
    { newLayout: 'new' },
    ['1: Start from a Template', '1: from Copied Flags', '1: from a Launch Script'],
  ],
  [
    'a model, which only one grid without errors lacks',
    'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    { addModel: 'model' },
    ['3: 8 ranks, 37 process groups', '3: Add the Model: memory, time'],
  ],
  [
    'no model where one is named',
    'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nmodel: {num_layers: 8}\n',
    { addModel: 'model' },
    ['3: 8 ranks, 37 process groups'],
  ],
])('%s', (_, text, commands, expected) => {
  expect(lenses(text, commands)).toEqual(expected);
});
