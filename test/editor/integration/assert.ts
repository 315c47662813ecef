// The assertions that the tests use, for the browser, which has no `node:assert`.

function fail(message: string): never {
  throw new Error(message);
}

const say = (value: unknown) => JSON.stringify(value) ?? String(value);

export const strict = {
  ok(value: unknown, message?: string): void {
    value || fail(message ?? `${say(value)} is not truthy`);
  },
  equal(actual: unknown, expected: unknown, message?: string): void {
    Object.is(actual, expected) || fail(message ?? `${say(actual)} is not ${say(expected)}`);
  },
  deepEqual(actual: unknown, expected: unknown, message?: string): void {
    say(actual) === say(expected) || fail(message ?? `${say(actual)} is not ${say(expected)}`);
  },
  match(actual: string, expected: RegExp, message?: string): void {
    expected.test(actual) || fail(message ?? `${say(actual)} does not match ${expected}`);
  },
};
