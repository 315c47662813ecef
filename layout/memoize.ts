/**
 * A function that does its work once for each object and remembers the answer for as long as the object lives. Rules and
 * front ends ask the same of one file many times.
 */
export function memoize<K extends object, V>(work: (key: K) => V): (key: K) => V {
  const answers = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = answers.get(key) ?? { value: work(key) };
    answers.set(key, known);
    return known.value;
  };
}
