import { expect, test } from 'vitest';
import { check } from '../../layout';
import { semanticTokenFeature, semanticTokens } from './semanticTokens';

/** The words of a layout with what each is. */
function tokens(text: string): string[] {
  const checked = check(text);
  const provider = semanticTokenFeature.capabilities.semanticTokensProvider;
  const types = provider?.legend.tokenTypes ?? [];
  const { data } = semanticTokens(checked);
  const lines = text.split('\n');
  const found: string[] = [];
  let [line, character] = [0, 0];
  for (let at = 0; at < data.length; at += 5) {
    const [down = 0, along = 0, length = 0, type = 0] = data.slice(at, at + 4);
    character = down === 0 ? character + along : along;
    line += down;
    found.push(`${lines[line]?.slice(character, character + length)} ${types[type]}`);
  }
  return found;
}

test('keys, modules, options, numbers and comments are told apart; a key that the format lacks stays plain', () => {
  const text = `layout: 1 # one
megatron: dev
unheard_of: 1
modules:
  vision: {tp: 2}
`;
  expect(tokens(text)).toEqual([
    'layout property',
    '1 number',
    '# one comment',
    'megatron property',
    'dev enumMember',
    'modules property',
    'vision class',
    'tp property',
    '2 number',
  ]);
});
