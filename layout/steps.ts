/** Takes all steps of a computation at once, and gives its result. */
export function atOnce<T>(steps: Generator<undefined, T>): T {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) {
      return step.value;
    }
  }
}
