/**
 * A function that works once for each object and remembers the answer for as long as the object lives. For objects that live
 * long, such as a description of keys; objects made of one text are for `memoizeRecent`.
 */
export function memoize<K extends object, V>(work: (key: K) => V): (key: K) => V {
  const answers = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = answers.get(key) ?? { value: work(key) };
    answers.set(key, known);
    return known.value;
  };
}

/** How many objects are remembered: those of a text, and of the one that it is compared with. */
const MAX_RECENT = 2;

/**
 * A function that remembers its answers for the last few objects. Rules and front ends ask the same of one file many times, and
 * every keystroke makes a new one; a weak map of them is emptied so late that it triples the memory of a server.
 */
export function memoizeRecent<K extends object, V>(work: (key: K) => V): (key: K) => V {
  const recent: { readonly key: K; readonly value: V }[] = [];
  return (key) => {
    const known = recent.find((entry) => entry.key === key);
    if (known) {
      return known.value;
    }
    const value = work(key);
    recent.unshift({ key, value });
    recent.length = Math.min(recent.length, MAX_RECENT);
    return value;
  };
}
