import type { Source } from './state';
import { type Arg, literal, type Place, placeOf, type Text, textAt, textOf } from './words';

/** The source of commands that stand in a file as they are. */
export function fileSource(file: string): Source {
  return { file, place: (offset) => ({ file, offset }) };
}

/** The source of commands that stand in a text of another script: their places are those of the text's pieces. */
export function writtenSource(file: string, text: Text): Source {
  return {
    file,
    place(offset): Place {
      let start = 0;
      for (const piece of text) {
        const length = piece.kind === 'text' ? piece.text.length : (literal([piece])?.length ?? 0);
        if (piece.kind === 'text' && offset < start + length) {
          return { ...piece.place, offset: piece.place.offset + Math.max(0, offset - start) };
        }
        start += length;
      }
      return placeOf(text) ?? { file, offset: 0 };
    },
  };
}

/** The end of a text after what is not known of it: `${ROOT}/scripts/x.sh` is `scripts/x.sh`. */
export function knownEnd(text: Text): string | null {
  const last = text.findLastIndex((piece) => literal([piece]) === null);
  const end = literal(text.slice(last + 1));
  return end?.startsWith('/') && end.length > 1 ? end.slice(1) : null;
}

/** Shell scripts, by the end of their names. */
export const SHELL_SCRIPT = /\.(sh|bash|slurm|sbatch|sub)$/;

/** The script that `bash x.sh`, `./x.sh`, `sbatch x.sh` starts, and its arguments. */
export function scriptCalled(name: string, args: readonly Arg[]): { path: string; args: readonly Arg[] } | null {
  const isScript = (text: string | null) => text !== null && SHELL_SCRIPT.test(text);
  if (isScript(name)) {
    return { path: name, args: args.slice(1) };
  }
  if (!/^(bash|sh|sbatch|srun|nohup|exec|source)$/.test(name)) {
    return null;
  }
  for (let index = 1; index < args.length; index++) {
    const arg = args[index];
    const text = textOf(arg) ?? (arg?.kind === 'word' ? knownEnd(arg.text) : null);
    if (text !== null && isScript(text)) {
      return { path: text, args: args.slice(index + 1) };
    }
    if (text !== null && !text.startsWith('-') && !/^(bash|sh|\d+|[\w.-]+)$/.test(text)) {
      return null;
    }
  }
  return null;
}

/** The commands that a program is given as one text: `bash -c TEXT`, `sbatch --wrap=TEXT`. */
export function commandsGiven(args: readonly Arg[]): { text: Text; index: number } | null {
  for (let index = 0; index < args.length; index++) {
    const arg = args[index];
    const text = textOf(arg);
    const next = args[index + 1];
    const before = args[index - 1];
    const shell = textOf(before) ?? '';
    if (text !== null && /^-\w*c$/.test(text) && /(^|\/)(bash|sh|zsh)$|^-\w+$/.test(shell) && next?.kind === 'word') {
      return { text: next.text, index };
    }
    if (text === '--wrap' && next?.kind === 'word') {
      return { text: next.text, index };
    }
    if (text?.startsWith('--wrap=') && arg?.kind === 'word') {
      return { text: textAt(text.slice(7), placeOf(arg.text) ?? { file: '', offset: 0 }), index };
    }
  }
  return null;
}
