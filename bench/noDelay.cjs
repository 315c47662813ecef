// Loaded before the YAML server: what it puts off by 200 ms while someone types is done at once, so that work is compared
// with work.
const later = globalThis.setTimeout;
globalThis.setTimeout = (run, delay, ...rest) => later(run, delay === 200 ? 0 : delay, ...rest);
