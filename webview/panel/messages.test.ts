import { describe, expect, test } from 'vitest';
import { layoutMessage } from '../../client/grid/messages';
import { applyEdits, check, failureEdits, failurePlan, understand } from '../../layout';
import { isRunReport } from '../../picture/runOutcome';
import { isToPanel, parseFromPanel } from './messages';

const ABOUT = { uri: 'file:///a.layout.yaml', title: 'a' };
const messageOf = (text: string) => layoutMessage(check(text), check(text).diagnostics, ABOUT);

describe('messages between the panel and the editor', () => {
  test('what the panel sends is read as it is', () => {
    expect(parseFromPanel({ type: 'ready' })).toEqual({ type: 'ready' });
    expect(parseFromPanel({ type: 'reveal', module: 'images' })).toEqual({ type: 'reveal', module: 'images' });
    expect(parseFromPanel({ type: 'writeFailed', ranks: [3, 9] })).toEqual({ type: 'writeFailed', ranks: [3, 9] });
    const compare = { type: 'compare', with: 'file', file: 'file:///b.layout.yaml' };
    expect(parseFromPanel(compare)).toEqual(compare);
  });

  test.each([
    null,
    'ready',
    { type: 'run' },
    { type: 'reveal', module: 3 },
    { type: 'revealLine', line: -1 },
    { type: 'writeFailed', ranks: [1.5] },
    { type: 'writeFailed', ranks: 'all' },
    { type: 'compare', with: 'tag', file: null },
    { type: 'copy' },
    { type: 'toString' },
    { type: 'writeFailed', ranks: new Array(5000).fill(0) },
  ])('anything else is refused: %j', (value) => {
    expect(parseFromPanel(value)).toBeNull();
  });

  test.each([{ type: 'nothing' }, { layout: null }, 'layout', null])('what is no message is refused: %j', (value) => {
    expect(isToPanel(value)).toBe(false);
  });

  test.each([{}, { verdict: 'hang' }, { verdict: 'hang', culprits: [{ rank: -1 }], victims: [], why: [] }, null])(
    'what `verify` does not print is no report of a run: %j',
    (value) => {
      expect(isRunReport(value)).toBe(false);
    },
  );

  test('the panel lists what the language server says, not what the rules alone would', () => {
    const text = 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3\n';
    expect(messageOf(text).diagnostics).toMatchObject([{ code: 'dense-factorization', severity: 'error', line: 3 }]);
    const weighed = check(text, new Map([['dense-factorization', 'warning']]));
    expect(layoutMessage(understand(text), weighed.diagnostics, ABOUT).diagnostics).toMatchObject([
      { code: 'dense-factorization', severity: 'warning', line: 3 },
    ]);
    expect(layoutMessage(understand(text), [], ABOUT).diagnostics).toEqual([]);
  });

  test('a file that is not whole still says where its modules lie, and where its diagnostics are', () => {
    const text =
      'layout: 1\nworld_size: 8\nmodules:\n  images: {num_ranks: 4, tp: 2}\n  language: {rank_offset: 4, num_ranks: 4, pp: 3}\n';
    const { layout, outline, diagnostics } = messageOf(text);
    expect(layout).toBeNull();
    expect(outline).toEqual({
      worldSize: 8,
      spans: [
        { name: 'images', start: 0, count: 4 },
        { name: 'language', start: 4, count: 4 },
      ],
      phases: [],
      weights: [],
    });
    expect(diagnostics).toMatchObject([{ code: 'dense-factorization', module: 'language', line: 4 }]);
  });
});

describe('failed ranks written into a file', () => {
  const text = 'layout: 1\nworld_size: 32\nparallelism:\n  tp: 8\n';
  const written = (before: string, ranks: number[]) => {
    const { facts, resolved } = check(before);
    const plan = resolved && failurePlan(resolved, ranks);
    const edits = facts && plan && failureEdits(facts, plan);
    return edits ? applyEdits(before, edits) : null;
  };

  test.each([[[6, 7]], [[19]], [[3]], [[6, 15]]])('the plan takes out ranks %j and breaks no rule', (ranks) => {
    const after = written(text, ranks) ?? '';
    const { diagnostics, resolved } = check(after);
    expect(diagnostics.filter(({ severity }) => severity !== 'information')).toEqual([]);
    expect(resolved?.ntp?.failedRanks).toEqual(ranks);
  });

  test('a failed slot takes all behind it along, and a late replica all before it', () => {
    const { resolved } = check(text);
    expect(resolved && failurePlan(resolved, [21])).toMatchObject({ tpSpares: 3, reducedReplicas: 3, idleRanks: 9 });
  });

  test('the keys of a written ntp are changed in place', () => {
    const before = `${text}ntp:\n  # two died\n  tp_spares: 1\n  failed_ranks:\n    - 7\n  non_active_ranks_per_dp:\n    - { dp: 0, local_ranks: [7] }\n`;
    const after = written(before, [6, 7]) ?? '';
    expect(after).toContain('# two died');
    expect(check(after).resolved?.ntp).toMatchObject({
      tpSpares: 2,
      nonActive: [{ dp: 0, localRanks: [6, 7] }],
      failedRanks: [6, 7],
    });
  });

  test.each(['  ep: 2\n  expt_tp: 1\n', '  order: dp-tp-cp-ep-pp\n', '  gtp_remat: 2\n'])(
    'a grid that nonuniform TP does not know has no plan: %j',
    (degrees) => {
      const { resolved } = check(text + degrees);
      expect(resolved && failurePlan(resolved, [7])).toBeNull();
    },
  );

  test('a failure so late that the map would fill pages has a plan that is not written', () => {
    const vast = text.replace('world_size: 32', 'world_size: 1048576');
    const { resolved } = check(vast);
    expect(resolved && failurePlan(resolved, [1_048_575])).toMatchObject({ reducedReplicas: 131_072 });
    expect(written(vast, [1_048_575])).toBeNull();
  });

  test('pipelines and whole failed TP groups have no plan', () => {
    const whole = check(text).resolved;
    const staged = check('layout: 1\nworld_size: 32\nparallelism:\n  tp: 8\n  pp: 2\n').resolved;
    expect(whole && failurePlan(whole, [0, 1, 2, 3, 4, 5, 6, 7])).toBeNull();
    expect(staged && failurePlan(staged, [7])).toBeNull();
  });
});
