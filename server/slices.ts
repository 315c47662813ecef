import type { CancellationToken } from 'vscode-languageserver';

/** How long the server works before it looks for messages, in milliseconds. */
const SLICE_MS = 8;

/** Takes the steps of a computation in slices, between which other requests are answered; null where it was cancelled. */
export async function inSlices<T>(steps: Generator<undefined, T>, token: CancellationToken): Promise<T | null> {
  for (let step = steps.next(), began = performance.now(); ; step = steps.next()) {
    if (step.done) {
      return step.value;
    }
    if (performance.now() - began > SLICE_MS) {
      await new Promise((resume) => setTimeout(resume));
      if (token.isCancellationRequested) {
        return null;
      }
      began = performance.now();
    }
  }
}

/** The same for a plan, which has a reason where there is none: also where its computation throws. */
export async function plannedInSlices<T>(
  steps: Generator<undefined, T>,
  token: CancellationToken,
): Promise<T | { readonly ok: false; readonly reason: string } | null> {
  try {
    return await inSlices(steps, token);
  } catch (error) {
    return { ok: false, reason: `the planner failed (${error instanceof Error ? error.message : error})` };
  }
}
