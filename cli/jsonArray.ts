import { jsonText } from '../layout';

/** A JSON array as `JSON.stringify` indents it, item by item, so that no more than one is held. */
export function* jsonArray(items: Iterable<unknown>, margin = ''): Iterable<string> {
  let before = '[';
  for (const item of items) {
    yield `${before}\n${margin}  ${jsonText(item, 2).replaceAll('\n', `\n${margin}  `)}`;
    before = ',';
  }
  yield before === '[' ? '[]' : `\n${margin}]`;
}
