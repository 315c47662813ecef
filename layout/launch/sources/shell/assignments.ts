import type { Assignment, Command } from 'unbash';
import { DONE, type Outcome } from './commandOutcome';
import { type expandArgs, expandList, expandText, joined } from './expand';
import type { Shell } from './shell';
import { bounded, boundedList, literal, type Text, textAt, unknownText, type Variable, word } from './words';

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
    assignItem(shell, name, literal(expandText(shell, index)), value.type === 'Word' ? expandText(shell, value) : []);
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
  const before = shell.state.variables.get(name);
  if (before?.kind === 'array' || (before === undefined && key !== null && /^\d+$/.test(key))) {
    const items = before?.kind === 'array' ? [...before.items] : [];
    const isKnown = key !== null && /^\d+$/.test(key) && Number(key) <= items.length;
    items[isKnown ? Number(key) : items.length] = word(isKnown ? text : unknownText('branch', `${name}[${key}]`));
    shell.assign(name, { kind: 'array', items });
  } else {
    const entries = new Map(before?.kind === 'map' ? before.entries : []);
    shell.assign(
      name,
      key === null
        ? { kind: 'scalar', text: unknownText('branch', name) }
        : { kind: 'map', entries: entries.set(key, text) },
    );
  }
}

function arrayValue(
  shell: Shell,
  elements: readonly Parameters<typeof expandArgs>[1][],
  before: Variable | undefined,
): Variable {
  const keyed = elements.map((element) => /^\[([^\]]+)\]=/.exec(element.text)?.[1]);
  if (elements.length > 0 && keyed.every((key) => key !== undefined && !/^\d+$/.test(key))) {
    const entries = new Map(before?.kind === 'map' ? before.entries : []);
    elements.forEach((element, index) => {
      const key = keyed[index] ?? '';
      const text = literal(expandText(shell, element));
      const value = text?.slice(text.indexOf(']=') + 2);
      entries.set(
        key.replaceAll(/["']/g, ''),
        value === undefined ? unknownText('branch', key) : textAt(value, shell.source.place(element.pos)),
      );
    });
    return { kind: 'map', entries };
  }
  const items = before?.kind === 'array' ? before.items : before?.kind === 'scalar' ? [word(before.text)] : [];
  return { kind: 'array', items: boundedList([...items, ...expandList(shell, elements)]) };
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
      shell.assign(
        name,
        options.includes('A')
          ? { kind: 'map', entries: new Map() }
          : options.includes('a')
            ? { kind: 'array', items: [] }
            : { kind: 'unset' },
      );
    }
    if (command === 'export' || options.includes('x')) {
      shell.state.exported.set(name, true);
    }
  }
  return DONE;
}
