import { grouped } from '../../layout';
import type { Scene } from '../views/view';
import { diagnosticList } from '../views/world';
import { h } from './dom';

/** How many diagnostics stand above the picture. */
const MAX_NOTICES = 3;

/** The first errors of the file, with links to their lines; nothing without errors. */
export function noticeOf({ diagnostics, isStale, actions }: Scene): HTMLElement[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const more = errors.length > MAX_NOTICES ? [h('li', {}, `and ${grouped(errors.length - MAX_NOTICES)} more`)] : [];
  const hint = h(
    'p',
    { class: 'hint' },
    'The picture is of the last layout that was whole; the World view is of the text as it is.',
  );
  const list = diagnosticList(errors.slice(0, MAX_NOTICES), actions, more);
  return isStale ? [...list, hint] : list;
}
