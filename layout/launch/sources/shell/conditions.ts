import type { TestExpression } from 'unbash';
import { shellNumber } from './arithmetic';
import { expandText, joined } from './expand';
import { matchesGlob, matchingWork } from './patterns';
import type { Shell } from './shell';
import { type Arg, isUnset, literal, type Text } from './words';

/** Whether a condition holds; null where it is not known. */
export type Verdict = boolean | null;

/** The verdict of `[[ ... ]]`. */
export function testVerdict(shell: Shell, expression: TestExpression): Verdict {
  switch (expression.type) {
    case 'TestUnary':
      return unaryVerdict(shell, expression.operator, expandText(shell, expression.operand));
    case 'TestBinary':
      return binaryVerdict(
        shell,
        expression.operator,
        expandText(shell, expression.left),
        expandText(shell, expression.right),
        true,
      );
    case 'TestLogical': {
      const verdicts = expression.operands.map((operand) => testVerdict(shell, operand));
      return expression.operator === '&&' ? all(verdicts) : not(all(verdicts.map(not)));
    }
    case 'TestNot': {
      const verdict = testVerdict(shell, expression.operand);
      return expression.negations.length % 2 === 1 ? not(verdict) : verdict;
    }
    case 'TestGroup':
      return testVerdict(shell, expression.expression);
  }
}

function not(verdict: Verdict): Verdict {
  return verdict === null ? null : !verdict;
}

function all(verdicts: readonly Verdict[]): Verdict {
  return verdicts.includes(false) ? false : verdicts.includes(null) ? null : true;
}

/**
 * The verdict of `test` and `[`, given their arguments: of one condition, or its negation. Several that `-a` and `-o` join yield under
 * 1 % of the values of scripts.
 */
export function commandVerdict(shell: Shell, args: readonly Arg[]): Verdict {
  const [first, second, third, ...more] = args.map((arg) => (arg.kind === 'word' ? arg.text : joined([arg])));
  const name = literal(first ?? []) ?? '';
  const operator = literal(second ?? []) ?? '';
  if (!first || name === '!') {
    return first ? not(commandVerdict(shell, args.slice(1))) : false;
  }
  if (third && BINARY.has(operator)) {
    return more.length === 0 ? binaryVerdict(shell, operator, first, third, false) : null;
  }
  if (/^-[a-zA-Z]$/.test(name)) {
    // `[ -z $X ]` with an empty X has no operand at all: the shell then finds `-z` itself not empty
    return second && !third ? unaryVerdict(shell, name, second) : null;
  }
  return second ? null : unaryVerdict(shell, '-n', first);
}

const BINARY = new Set(['=', '==', '!=', '<', '>', '-eq', '-ne', '-lt', '-le', '-gt', '-ge', '-nt', '-ot', '-ef']);

function unaryVerdict(shell: Shell, operator: string, operand: Text): Verdict {
  if (operator === '-v') {
    const name = literal(operand);
    shell.assumed ||= name !== null && !shell.state.variables.has(name);
    return name === null ? null : shell.state.variables.has(name);
  }
  if (operator !== '-z' && operator !== '-n') {
    return null;
  }
  const empty = isEmpty(shell, operand);
  return operator === '-z' ? empty : not(empty);
}

/** Whether a text is empty; a variable that only the caller could set is taken to be, as its default would be. */
function isEmpty(shell: Shell, text: Text): Verdict {
  if (isUnset(text)) {
    shell.assumed = true;
    return true;
  }
  const known = literal(text);
  if (known === null) {
    return text.some((piece) => piece.kind === 'text' && piece.text !== '') ? false : null;
  }
  return known === '';
}

/** A text with the script's own arguments taken to be empty, or null where it is not known otherwise. */
function compared(shell: Shell, text: Text): string | null {
  const isPositional = text.some((piece) => piece.kind === 'unknown' && piece.why === 'positional');
  shell.assumed ||= isPositional;
  return literal(text.filter((piece) => piece.kind !== 'unknown' || piece.why !== 'positional'));
}

function binaryVerdict(shell: Shell, operator: string, left: Text, right: Text, glob: boolean): Verdict {
  if (operator === '=' || operator === '==' || operator === '!=') {
    const same = sameVerdict(shell, left, right, glob);
    return operator === '!=' ? not(same) : same;
  }
  const [a, b] = [compared(shell, left), compared(shell, right)];
  if (a === null || b === null) {
    return null;
  }
  if (operator === '<' || operator === '>') {
    return operator === '<' ? a < b : a > b;
  }
  const [x, y] = [shellNumber(a), shellNumber(b)];
  const compare = NUMERIC[operator];
  return x === null || y === null || !compare ? null : compare(x, y);
}

const NUMERIC: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  '-eq': (x, y) => x === y,
  '-ne': (x, y) => x !== y,
  '-lt': (x, y) => x < y,
  '-le': (x, y) => x <= y,
  '-gt': (x, y) => x > y,
  '-ge': (x, y) => x >= y,
};

function sameVerdict(shell: Shell, left: Text, right: Text, glob: boolean): Verdict {
  if (literal(right) === '') {
    return isEmpty(shell, left);
  }
  const [a, b] = [compared(shell, left), compared(shell, right)];
  if (a === null || b === null) {
    return null;
  }
  shell.compares(left, b);
  if (!shell.spend(glob ? matchingWork(a, b) : a.length)) {
    return null;
  }
  return glob && right.some((piece) => piece.kind === 'text' && /[*?[]/.test(piece.text)) ? matchesGlob(a, b) : a === b;
}
