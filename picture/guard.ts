/** Whether a value has a form. */
export type Guard<T> = (value: unknown) => value is T;

/** What a guard lets through. */
export type Guarded<G> = G extends Guard<infer T> ? T : never;

/** The forms of an object's fields. */
type Fields = Readonly<Record<string, Guard<unknown>>>;

/** An object with fields of these forms; those that may be undefined may be left out. */
type Formed<F extends Fields> = {
  readonly [K in keyof F as undefined extends Guarded<F[K]> ? never : K]: Guarded<F[K]>;
} & {
  readonly [K in keyof F as undefined extends Guarded<F[K]> ? K : never]?: Guarded<F[K]>;
};

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
  <T>(guard: Guard<T>, most = Number.POSITIVE_INFINITY): Guard<readonly T[]> =>
  (value): value is readonly T[] =>
    Array.isArray(value) && value.length <= most && value.every(guard);

/** A field that may be left out. */
export const optional =
  <T>(guard: Guard<T>): Guard<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || guard(value);

/** An object whose fields, whatever their names, all have one form. */
export const recordOf =
  <T>(guard: Guard<T>): Guard<Readonly<Record<string, T>>> =>
  (value): value is Readonly<Record<string, T>> =>
    typeof value === 'object' && value !== null && Object.values(value).every(guard);

/** An object with at least these fields. */
export const objectOf =
  <F extends Fields>(fields: F): Guard<Formed<F>> =>
  (value): value is Formed<F> =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, guard]) => guard(Reflect.get(value, name)));

type Message<U extends Readonly<Record<string, Fields>>> = {
  [K in keyof U]: { readonly type: K } & Formed<U[K]>;
}[keyof U];

/** Messages told apart by `type`, with the forms of all their fields. */
export function unionBy<U extends Readonly<Record<string, Fields>>>(types: U): Guard<Message<U>> {
  const guards = new Map(Object.entries<Fields>(types).map(([type, fields]) => [type, objectOf(fields)]));
  return (value): value is Message<U> => {
    const type = typeof value === 'object' && value !== null ? Reflect.get(value, 'type') : undefined;
    return guards.get(String(type))?.(value) ?? false;
  };
}
