import { pythonLines, type Token } from './tokens';

/** Programs that start training, at the beginning of a command. */
const LAUNCHER = /^\s*([\w./-]*\/)?(torchrun|python[\d.]*|srun|mpirun|mpiexec|deepspeed|accelerate|msrun)(\s|$)/;

/**
 * The commands that a Python launcher holds as plain data, as a script whose words stand where the file has them: lists of strings
 * that begin with a launcher, and strings that do. A list with anything else in it is not plain, and left out.
 * @returns null where there are none
 */
export function pythonCommands(text: string): string | null {
  const characters = Array.from({ length: text.length }, () => ' ');
  const put = (word: string, offset: number) => {
    for (let i = 0; i < word.length; i++) {
      characters[offset + i] = word[i] ?? ' ';
    }
  };
  let count = 0;
  for (const { tokens } of pythonLines(text)) {
    for (let i = 0; i < tokens.length; i++) {
      const list = plainList(tokens, i);
      const [first] = list?.words ?? [];
      if (list && first && LAUNCHER.test(first.text)) {
        for (const { text: word, offset } of list.words) {
          put(`'${word.replaceAll("'", ' ')}'`, offset);
        }
        put('\n', list.end);
        i = list.next;
        count++;
        continue;
      }
      const token = tokens[i];
      const quote = token ? /^("""|'''|"|')/.exec(text.slice(token.offset, token.offset + 3))?.[0] : undefined;
      const start = token && quote ? token.offset + quote.length : 0;
      if (token?.kind === 'text' && quote && LAUNCHER.test(token.text) && text.startsWith(token.text, start)) {
        put(`${token.text}\n`, start);
        count++;
      }
    }
  }
  return count === 0 ? null : characters.join('');
}

interface PlainList {
  readonly words: readonly Token[];
  /** The offset of its closing bracket, and the token. */
  readonly end: number;
  readonly next: number;
}

/** The list of strings that opens at a token; null where there is none, or it holds anything else. */
function plainList(tokens: readonly Token[], from: number): PlainList | null {
  const isAt = (index: number, text: string) => tokens[index]?.kind === 'operator' && tokens[index].text === text;
  if (!isAt(from, '[')) {
    return null;
  }
  const words: Token[] = [];
  let index = from + 1;
  for (let token = tokens[index]; token?.kind === 'text'; token = tokens[index]) {
    words.push(token);
    index += isAt(index + 1, ',') ? 2 : 1;
  }
  const close = tokens[index];
  return close && isAt(index, ']') ? { words, end: close.offset, next: index } : null;
}
