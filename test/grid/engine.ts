// What the panel's tests, pictures and benchmarks need of the engine, and the messages that the editor makes with it.
import { layoutMessage as messageOf } from '../../client/grid/messages';
import { check } from '../../layout';

export { check, processGroups } from '../../layout';
export { physicalPlacement } from '../../picture/physical';

export const layoutMessage = (text: string, title: string) => {
  const checked = check(text);
  return messageOf(checked, checked.diagnostics, title);
};
