import { expect, test } from 'vitest';
import { fuzz } from './editServer';

const edits = Number(process.env.FUZZ_EDITS ?? 20_000);
const seed = Number(process.env.FUZZ_SEED ?? 1);

test('random edits leave the server with the text of its client and the findings of a new server', async () => {
  const result = await fuzz(edits, seed);
  console.log(
    `seed ${seed}: ${result.edits} edits in ${result.bursts} bursts, memory ${result.memory.join(' -> ')} MiB`,
  );
  expect(result.edits).toBeGreaterThanOrEqual(edits);
  // the heap is held at 64 MiB, what is compiled and cached beside it comes to an end
  expect(result.memory[1] - result.memory[0]).toBeLessThan(64);
}, 3_600_000);
