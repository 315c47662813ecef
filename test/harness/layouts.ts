import { type CommBackend, isVerifiable, type SmokePlan, smokePlan, type VerifiableLayout } from '../../jobs';
import { check } from '../../layout';

/** A layout that must not have errors. */
export function soundLayout(text: string): VerifiableLayout {
  const checked = check(text);
  if (!isVerifiable(checked)) {
    throw new Error(`the layout has errors: ${checked.diagnostics.map(({ message }) => message).join(' ')}`);
  }
  return checked;
}

/** The plan of the smoke job of a layout that must not have errors. */
export function planOf(text: string, file = 'x.layout.yaml', backend: CommBackend = 'gloo'): SmokePlan {
  const { resolved, facts } = soundLayout(text);
  return smokePlan(resolved, facts, file, backend);
}
