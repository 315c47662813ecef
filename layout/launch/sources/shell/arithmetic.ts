import type { ArithmeticExpression, ArithmeticWord } from 'unbash';

/** How an arithmetic expression reads and writes the shell's variables; null stands for a number that is not known. */
export interface ArithmeticScope {
  /** The number of a variable, a number or an expansion. */
  number(word: ArithmeticWord): number | null;
  assign(name: string, value: number | null): void;
}

/** How many operations may stand in one another. */
const MAX_DEPTH = 256;

/** The value of an arithmetic expression, or null where it is not known. */
export function evaluateArithmetic(expression: ArithmeticExpression, scope: ArithmeticScope, depth = 0): number | null {
  if (depth > MAX_DEPTH) {
    return null;
  }
  switch (expression.type) {
    case 'ArithmeticWord':
      return scope.number(expression);
    case 'ArithmeticGroup':
      return evaluateArithmetic(expression.expression, scope, depth + 1);
    case 'ArithmeticUnary':
      return unary(expression, scope, depth + 1);
    case 'ArithmeticBinary':
      return binary(expression, scope, depth + 1);
    // under 1 % of the values of scripts come of these
    case 'ArithmeticTernary':
    case 'ArithmeticCommandExpansion':
      return null;
  }
}

function unary(
  { operator, operand, prefix }: Extract<ArithmeticExpression, { type: 'ArithmeticUnary' }>,
  scope: ArithmeticScope,
  depth: number,
): number | null {
  const value = evaluateArithmetic(operand, scope, depth);
  switch (operator) {
    case '++':
    case '--': {
      const after = value === null ? null : value + (operator === '++' ? 1 : -1);
      if (operand.type === 'ArithmeticWord') {
        scope.assign(operand.value, after);
      }
      return prefix ? after : value;
    }
    case '-':
      return value === null ? null : -value;
    case '!':
      return value === null ? null : Number(value === 0);
    case '+':
      return value;
    default:
      return null;
  }
}

function binary(
  { operator, left, right }: Extract<ArithmeticExpression, { type: 'ArithmeticBinary' }>,
  scope: ArithmeticScope,
  depth: number,
): number | null {
  const assigned = /^([^=!<>]|<<|>>)?=$/.test(operator) ? operator.slice(0, -1) : null;
  if (assigned !== null && left.type === 'ArithmeticWord') {
    const value = evaluateArithmetic(right, scope, depth);
    const result = assigned === '' ? value : combine(assigned, scope.number(left), value);
    scope.assign(left.value, result);
    return result;
  }
  const a = evaluateArithmetic(left, scope, depth);
  if ((operator === '&&' && a === 0) || (operator === '||' && a !== null && a !== 0)) {
    return operator === '&&' ? 0 : 1;
  }
  return combine(operator, a, evaluateArithmetic(right, scope, depth));
}

/** Those of bits yield under 1 % of the values of scripts. */
const OPERATORS: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '**': (a, b) => a ** b,
  '/': (a, b) => Math.trunc(a / b),
  '%': (a, b) => a % b,
  '<': (a, b) => Number(a < b),
  '>': (a, b) => Number(a > b),
  '<=': (a, b) => Number(a <= b),
  '>=': (a, b) => Number(a >= b),
  '==': (a, b) => Number(a === b),
  '!=': (a, b) => Number(a !== b),
  '&&': (a, b) => Number(a !== 0 && b !== 0),
  '||': (a, b) => Number(a !== 0 || b !== 0),
};

/** The result of an operator; null for what the shell refuses, such as a division by zero, and beyond exact integers. */
function combine(operator: string, a: number | null, b: number | null): number | null {
  if (a === null || b === null) {
    return null;
  }
  const result = OPERATORS[operator]?.(a, b) ?? Number.NaN;
  return Number.isSafeInteger(result) ? result : null;
}

/** A number as the shell's arithmetic reads it (decimal, `0x`, octal), or null where the text is none. */
export function shellNumber(text: string): number | null {
  const trimmed = text.trim();
  const value = /^[-+]?0[0-7]+$/.test(trimmed)
    ? Number.parseInt(trimmed, 8)
    : /^[-+]?(\d+|0[xX][\da-fA-F]+)$/.test(trimmed)
      ? Number(trimmed)
      : Number.NaN;
  return Number.isSafeInteger(value) ? value : null;
}
