/**
 * The width of the feed-forward layer where nothing says it: four times the hidden size, or with `--swiglu` two thirds of that in
 * multiples of 64, for the same number of parameters (`validate_args`, megatron/training/arguments.py).
 */
export function defaultFfnHiddenSize(hiddenSize: number, swiglu: boolean): number {
  return swiglu ? Math.trunc((4 * hiddenSize * 2) / 3 / 64) * 64 : 4 * hiddenSize;
}
