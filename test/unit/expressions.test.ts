import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';
import { computingTime } from '../harness/computing';
import { attacksOn } from '../harness/expressionAttacks';

const ROOMS = ['layout', 'server', 'jobs', 'cli', 'picture', 'client', 'webview'];

/** The length of an attack, in characters. */
const LENGTH = 100_000;

/** A linear expression takes about a millisecond for an attack, a quadratic one seconds. Milliseconds. */
const LIMIT = 300;

/** The places that build expressions from texts, and why a hostile text cannot make them slow. */
const BUILT: Readonly<Record<string, string>> = {
  'jobs/clusterFields.ts': 'the patterns of the schemas, which are tested here',
  'jobs/trace/sources.ts': 'a file name that the person writes on the command line',
  'layout/cost/gpus.ts': 'the names of the table of GPUs, on single words',
  'picture/find.ts': 'a search that the person writes',
};

interface Expression {
  readonly place: string;
  readonly pattern: string;
  readonly flags: string;
}

const files = ROOMS.flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .map((path) => join(room, path).replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts')),
);

/** The nodes of a tree of JSON. */
function* nodesOf(value: unknown): Iterable<object> {
  if (typeof value === 'object' && value !== null) {
    yield value;
    for (const one of Object.values(value)) {
      yield* nodesOf(one);
    }
  }
}

/** The regular expressions that a source file writes as literals. */
function literalsOf(path: string): readonly Expression[] {
  const text = readFileSync(path, 'utf8');
  return [...nodesOf(parseAst(text, { lang: 'ts' }))].flatMap((node) => {
    if (!('regex' in node && 'start' in node)) {
      return [];
    }
    const { pattern, flags } = node.regex as { pattern: string; flags: string };
    return { place: `${path}:${text.slice(0, Number(node.start)).split('\n').length}`, pattern, flags };
  });
}

/** The patterns of a JSON schema. */
function patternsOf(path: string): readonly Expression[] {
  return [...nodesOf(JSON.parse(readFileSync(path, 'utf8')))].flatMap((node) =>
    'pattern' in node && typeof node.pattern === 'string' ? { place: path, pattern: node.pattern, flags: 'u' } : [],
  );
}

const context = createContext({ texts: [], expression: / / });
const search = new Script('texts.forEach((text) => text.replace(expression, ""))');

/**
 * Whether an expression needs more than a limit of computing time to get through texts; the engine can be interrupted in the
 * middle. Where other programs had the processors, it is given longer.
 */
function isSlow(expression: Expression, texts: readonly string[], limit: number, timeout = limit): boolean {
  Object.assign(context, { texts, expression: new RegExp(expression.pattern, expression.flags) });
  const start = computingTime();
  try {
    search.runInContext(context, { timeout });
    return false;
  } catch (error) {
    // the error may be of the other context, whose `Error` is another
    if (Object(error).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
      throw error;
    }
    return computingTime() - start >= limit || isSlow(expression, texts, limit, 2 * timeout);
  }
}

/** A text on which an expression is slow, also when it is tried again on a machine that was busy; undefined where there is none. */
function slowText(expression: Expression): string | undefined {
  const texts = attacksOn(expression.pattern, expression.flags, LENGTH);
  return isSlow(expression, texts, 2 * LIMIT)
    ? texts.find((text) => [1, 2, 3].every(() => isSlow(expression, [text], LIMIT)))
    : undefined;
}

describe('a text of 100,000 characters', () => {
  test('is read in linear time by every regular expression of the product', () => {
    const schemas = readdirSync('schemas').filter((name) => name.endsWith('.json'));
    const expressions = [...files.flatMap(literalsOf), ...schemas.flatMap((name) => patternsOf(join('schemas', name)))];
    expect(expressions.length).toBeGreaterThan(400);
    const slow = expressions.flatMap((expression) => {
      const text = slowText(expression);
      return text === undefined ? [] : `${expression.place} /${expression.pattern}/ on ${text.slice(0, 60)}`;
    });
    expect(slow).toEqual([]);
  });

  test.each([
    [/\s+$/, ''],
    [/^\s*s([/#|])([\w:@ /-]+(?:\\\+)?)\1([\w:@. /-]*)\1(g?)\s*$/, ''],
  ])('shows that %s is slow', ({ source }, flags) => {
    expect(slowText({ place: '', pattern: source, flags })).toBeDefined();
  });
});

test('expressions are built from texts in known places only', () => {
  const building = files.filter((path) => /\bRegExp\(/.test(readFileSync(path, 'utf8')));
  expect(building.sort()).toEqual(Object.keys(BUILT));
});
