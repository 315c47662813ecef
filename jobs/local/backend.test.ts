import { describe, expect, test } from 'vitest';
import { EnvironmentError } from '../environmentError';
import { chooseBackend } from './backend';

describe('the backend', () => {
  test('is gloo where there is no GPU, or where it is asked for', () => {
    expect(chooseBackend('auto', { gpus: 0 }, 8)).toBe('gloo');
    expect(chooseBackend('gloo', { gpus: 4 }, 8)).toBe('gloo');
    expect(chooseBackend('auto', { gpus: 8 }, 8)).toBe('nccl');
  });

  test('never lets two ranks share a GPU', () => {
    expect(() => chooseBackend('auto', { gpus: 4 }, 8)).toThrow(EnvironmentError);
    expect(() => chooseBackend('nccl', { gpus: 0 }, 8)).toThrow(/8 ranks, but torch sees 0 GPUs/);
  });
});
