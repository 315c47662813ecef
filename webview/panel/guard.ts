/** Whether a value has a form. */
export type Guard<T> = (value: unknown) => value is T;

/** The forms of an object's fields. */
type Fields = Readonly<Record<string, Guard<unknown>>>;

export const isString: Guard<string> = (value): value is string => typeof value === 'string';

export const isBoolean: Guard<boolean> = (value): value is boolean => typeof value === 'boolean';

export const isNumber: Guard<number> = (value): value is number => typeof value === 'number' && Number.isFinite(value);

/** A non-negative integer. */
export const isIndex: Guard<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

export const oneOf =
  <T extends string>(...options: readonly T[]): Guard<T> =>
  (value): value is T =>
    options.some((option) => option === value);

export const nullOr =
  <T>(guard: Guard<T>): Guard<T | null> =>
  (value): value is T | null =>
    value === null || guard(value);

export const arrayOf =
  <T>(guard: Guard<T>, most = Number.POSITIVE_INFINITY): Guard<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.length <= most && value.every(guard);

/** A field that may be left out. */
export const optional =
  <T>(guard: Guard<T>): Guard<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || guard(value);

/** An object whose fields, whatever their names, all have one form. */
export const recordOf =
  <T>(guard: Guard<T>): Guard<Record<string, T>> =>
  (value): value is Record<string, T> =>
    typeof value === 'object' && value !== null && Object.values(value).every(guard);

/** An object with at least these fields. */
export const objectOf =
  (fields: Fields): Guard<object> =>
  (value): value is object =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, guard]) => guard(Reflect.get(value, name)));

/** Messages told apart by `type`: every type must be named, with the forms of all its fields. */
export function unionBy<T extends { readonly type: string }>(
  types: {
    readonly [K in T['type']]: Readonly<Record<Exclude<keyof Extract<T, { type: K }>, 'type'>, Guard<unknown>>>;
  },
): Guard<T> {
  const guards = new Map(Object.entries<Fields>(types).map(([type, fields]) => [type, objectOf(fields)]));
  return (value): value is T => {
    const type = typeof value === 'object' && value !== null ? Reflect.get(value, 'type') : undefined;
    return guards.get(String(type))?.(value) ?? false;
  };
}
