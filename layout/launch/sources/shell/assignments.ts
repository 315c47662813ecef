import type { Assignment, Command } from 'unbash';
import { DONE, type Outcome } from './commandOutcome';
import { type expandArgs, expandList, expandText, joined } from './expand';
import type { Shell } from './shell';
import { type Arg, bounded, boundedList, literal, type Text, textAt, unknownText, type Variable, word } from './words';

/** An argument that looks like an assignment, such as `key=value`, as the text that it is. */
export function assignmentText(shell: Shell, { name, value, pos, index, append }: Assignment): Text {
  const head = `${name}${index ? `[${index.text}]` : ''}${append ? '+=' : '='}`;
  const rest = value.type === 'Word' ? expandText(shell, value) : joined(expandList(shell, value.elements));
  return [...textAt(head, shell.source.place(pos)), ...rest];
}

/** Sets a variable, an item of one, or the value that `+=` makes of it. */
export function assign(shell: Shell, { name, value, append, index }: Assignment): void {
  const before = shell.state.variables.get(name);
  if (index) {
    const text = value.type === 'Word' && !append ? expandText(shell, value) : unknownText('branch', name);
    assignItem(shell, name, literal(expandText(shell, index)), text);
  } else if (value.type === 'ArrayValue') {
    shell.assign(name, arrayValue(shell, value.elements, append ? before : undefined));
  } else {
    const text = expandText(shell, value);
    if (append && before?.kind === 'array') {
      shell.assign(name, { kind: 'array', items: [...before.items, word(text)] });
    } else {
      const head = append ? (before?.kind === 'scalar' ? before.text : before ? [] : unknownText('unset', name)) : [];
      shell.assign(name, { kind: 'scalar', text: append ? bounded([...head, ...text]) : text });
    }
  }
}

function assignItem(shell: Shell, name: string, key: string | null, text: Text): void {
  const items = [...itemsOf(shell.state.variables.get(name))];
  const isKnown = key !== null && /^\d+$/.test(key) && Number(key) <= items.length;
  items[isKnown ? Number(key) : items.length] = word(isKnown ? text : unknownText('branch', `${name}[${key}]`));
  shell.assign(name, { kind: 'array', items });
}

/** What a list has before something is added to it. */
function itemsOf(before: Variable | undefined): readonly Arg[] {
  return before?.kind === 'array' ? before.items : before?.kind === 'scalar' ? [word(before.text)] : [];
}

function arrayValue(
  shell: Shell,
  elements: readonly Parameters<typeof expandArgs>[1][],
  before: Variable | undefined,
): Variable {
  const keyed = elements.find(({ text }) => /^\[[^\]]+\]=/.test(text));
  if (keyed) {
    // under 1 % of the values of scripts stand under keys
    return { kind: 'scalar', text: unknownText('branch', keyed.text) };
  }
  return { kind: 'array', items: boundedList([...itemsOf(before), ...expandList(shell, elements)]) };
}

/** `export`, `declare`, `local` and their like. */
export function declare(shell: Shell, command: string, args: Command['args']): Outcome {
  const options = args.flatMap((arg) => (arg.type === 'Word' && arg.value.startsWith('-') ? [arg.value] : [])).join('');
  for (const arg of args) {
    const name = arg.type === 'Word' ? (/^\w+$/.exec(arg.value)?.[0] ?? null) : arg.name;
    if (name === null) {
      continue;
    }
    if (arg.type === 'Assignment') {
      assign(shell, arg);
    } else if (command !== 'export' && command !== 'readonly' && !shell.state.variables.has(name)) {
      shell.assign(name, /a/i.test(options) ? { kind: 'array', items: [] } : { kind: 'unset' });
    }
    if (command === 'export' || options.includes('x')) {
      shell.state.exported.add(name);
    }
  }
  return DONE;
}
