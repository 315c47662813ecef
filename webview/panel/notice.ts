import { grouped } from '../../layout';
import type { Actions } from '../views/view';
import { findingItem } from '../views/world';
import { h } from './dom';
import type { PanelFinding } from './messages';

/** How many findings stand above the picture. */
const MAX_NOTICES = 3;

/** The errors of the file, with the way to their lines; nothing where there are none. */
export function noticeOf(
  findings: readonly PanelFinding[],
  stale: boolean,
  actions: Pick<Actions, 'revealLine'>,
): HTMLElement[] {
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) {
    return [];
  }
  const items = errors.slice(0, MAX_NOTICES).map((finding) => findingItem(finding, actions));
  const more = errors.length > MAX_NOTICES ? [h('li', {}, `and ${grouped(errors.length - MAX_NOTICES)} more`)] : [];
  const hint = h(
    'p',
    { class: 'hint' },
    'The picture is of the last layout that was whole; the World view is of the text as it is.',
  );
  return [h('ul', { class: 'findings' }, ...items, ...more), ...(stale ? [hint] : [])];
}
