import { expect, test } from 'vitest';
import { job } from '../rule';
import { reports } from '../testing';
import { fullPrecision } from './full-precision';

const file = (model: string) => job(16, 'tp: 8', `model: {${model}}`);

test('full-precision', () => {
  const said = reports(fullPrecision, {
    large: file('num_layers: 80, hidden_size: 8192, params_dtype: fp32'),
    'large in bf16': file('num_layers: 80, hidden_size: 8192, params_dtype: bf16'),
    'large, not said': file('num_layers: 80, hidden_size: 8192'),
    small: file('num_layers: 12, hidden_size: 768, params_dtype: fp32'),
    'of no known size': file('params_dtype: fp32'),
  });
  expect(said).toMatchInlineSnapshot(`
    "large: information at "fp32": The weights, 64 billion or more, and the matrix products are in fp32. Use params_dtype bf16 (--bf16).
      = suggestion: Change params_dtype to bf16: model: {num_layers: 80, hidden_size: 8192, params_dtype: [-fp32-]{+bf16+}}"
  `);
});
