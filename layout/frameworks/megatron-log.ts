import type { LaunchFamily } from '../launch/family';
import { listUnmapped } from '../launch/optionRows';
import { type Option, Options } from '../launch/options';
import { Facts } from '../launch/value';
import { MEGATRON_DIALECT } from './megatron-lm';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from './megatronOptions';

const DIALECT: Dialect = { ...MEGATRON_DIALECT, switches: 'value', resolved: true };

const START = '---- arguments ----';
const END = '---- end of arguments ----';

/** A log with the arguments that Megatron-LM prints (megatron/training/arguments.py, _print_args). */
export const megatronLog: LaunchFamily<'megatron-log'> = {
  name: 'megatron-log',
  log: { isLog: (text) => text.includes(START), read: readArgumentDump },
};

/** A line of the printed arguments, after whatever a launcher puts before it: `  name .... value`. */
const LINE = /(?:^|[\]:|>\s])([A-Za-z_]\w*) \.+ ?(.*)$/s;

/** Reads the last block of printed arguments of a log; all values are those after validation. */
function readArgumentDump(file: string, text: string): Facts {
  const facts = new Facts();
  const start = text.lastIndexOf(START);
  const options = new Options(dumpedOptions(file, text, Math.max(0, start)), null);
  readMegatron(options, DIALECT, facts);
  listUnmapped(options, MEGATRON_OPTIONS, facts);
  facts.set('world_size', options.has('world_size') ? options.integer('world_size') : { unknown: 'world_size' });
  facts.set('parallelism.dp', options.given.integer('data_parallel_size'));
  return facts;
}

/** The longest line of a log that is looked at. */
const MAX_LINE = 4_000;

function dumpedOptions(file: string, text: string, start: number): Map<string, Option> {
  const entries = new Map<string, Option>();
  let offset = start;
  while (offset < text.length) {
    const end = text.indexOf('\n', offset);
    const line = text.slice(offset, Math.min(end < 0 ? text.length : end, offset + MAX_LINE));
    if (line.includes(END)) {
      break;
    }
    const match = LINE.exec(line.replace(/\r$/, ''));
    const [, name, value = ''] = match ?? [];
    if (name !== undefined && value !== 'None') {
      const place = { file, offset: offset + line.length - value.length };
      const values = /^\[.*\]$/.test(value) ? listOf(value) : [value];
      entries.set(name, { values, places: values.map(() => place), place, unknown: null });
    } else if (name !== undefined) {
      entries.delete(name);
    }
    offset = end < 0 ? text.length : end + 1;
  }
  return entries;
}

/** The items of a list as Python prints it. */
function listOf(value: string): string[] {
  const inner = value.slice(1, -1).trim();
  return inner === '' ? [] : inner.split(',').map((item) => item.trim().replace(/^(['"])(.*)\1$/, '$2'));
}
