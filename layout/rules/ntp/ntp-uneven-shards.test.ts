import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpUnevenShards } from './ntp-uneven-shards';
import { entry, map, ntp } from './testing';

/** Two replicas, of which the first gives up some slots. */
const spares = (slots: string, model: string, tp = 8) =>
  ntp(`tp_spares: ${slots.split(',').length}, ${map(entry(0, slots))}`, 2 * tp, `tp: ${tp}`, `model: {${model}}`);

test('ntp-uneven-shards', () => {
  const said = reports(ntpUnevenShards, {
    'a vocabulary that divides once it is padded': spares('4, 5, 6, 7', 'vocab_size: 50257'),
    'heads that do not divide': spares('6, 7', 'num_attention_heads: 64'),
    'a vocabulary that does not': spares('7', 'vocab_size: 50257'),
    'so few heads that the reshard maps fail': spares('5, 6, 7', 'num_attention_heads: 8'),
    'heads that the reshard maps cannot fold': spares('11, 12, 13, 14, 15', 'num_attention_heads: 112', 16),
    'heads that they can fold': spares('11, 12, 13, 14, 15', 'num_attention_heads: 128', 16),
  });
  expect(said).toMatchInlineSnapshot(`
    "heads that do not divide: warning at "64": num_attention_heads 64 does not divide among the 6 active slots: some hold 11, others 10. Each step waits for the fullest. Use tp_spares 4 for equal shares.
    a vocabulary that does not: warning at "50257": vocab_size 50257 (padded to 51200) does not divide among the 7 active slots: some hold 7315, others 7314. Each step waits for the fullest. Use tp_spares 3 for equal shares.
    so few heads that the reshard maps fail: error at "8": num_attention_heads 8 does not divide among the 5 active slots: some hold 2, others 1. The reshard maps fail with an IndexError. Use tp_spares 4 for equal shares.
    heads that the reshard maps cannot fold: error at "112": num_attention_heads 112 does not divide among the 11 active slots: some hold 11, others 10. The reshard maps fail with an IndexError. Use tp_spares 8 for equal shares.
    heads that they can fold: warning at "128": num_attention_heads 128 does not divide among the 11 active slots: some hold 12, others 11. Each step waits for the fullest. Use tp_spares 8 for equal shares."
  `);
});
