/** How many times more often a property is tried than in the fast project. */
const FACTOR = Number(process.env.FUZZ_FACTOR ?? 1);

const SEED = Number(process.env.FUZZ_SEED ?? 1);

/** fast-check's settings for a property that the fast project tries `count` times: the same seed gives the same values. */
export const runs = (count: number) => ({ numRuns: count * FACTOR, seed: SEED });
