import {
  type CompletionItem,
  CompletionItemKind,
  InsertTextFormat,
  MarkupKind,
  type Position,
  type TextEdit,
} from 'vscode-languageserver';
import {
  type Checked,
  DEFAULT_ORDER,
  divisors,
  type KeySpec,
  LANGUAGE_MODULE,
  type LayoutFacts,
  type ModuleFacts,
  processGroups,
} from '../layout';
import { type Cursor, cursorAt } from './cursor';
import { moduleAt, signature } from './describe';
import { mapOf, specAt } from './locate';

/** What can be typed at a position: keys that are valid and not yet there, or values that would work. */
export function completion(checked: Checked, position: Position): CompletionItem[] {
  const cursor = cursorAt(checked.lines, position);
  if (!cursor) {
    return [];
  }
  const edit = (newText: string): TextEdit => ({
    range: { start: { line: position.line, character: cursor.wordStart }, end: position },
    newText,
  });
  return cursor.valueKey === null ? keyItems(cursor, edit) : valueItems(checked, cursor, cursor.valueKey, edit);
}

type MakeEdit = (newText: string) => TextEdit;

function keyItems(cursor: Cursor, edit: MakeEdit): CompletionItem[] {
  const spec = specAt(cursor.path);
  if (spec?.type === 'record') {
    const name = cursor.siblings.has(LANGUAGE_MODULE) ? 'images' : LANGUAGE_MODULE;
    return cursor.siblings.has(name) ? [] : [moduleItem(name, edit)];
  }
  return Object.entries(mapOf(spec)?.keys ?? {})
    .filter(([name]) => !cursor.siblings.has(name))
    .map(([name, key], i) => keyItem(name, key as KeySpec, i, cursor, edit));
}

function keyItem(name: string, spec: KeySpec, place: number, cursor: Cursor, edit: MakeEdit): CompletionItem {
  const opens = spec.type === 'map' || spec.type === 'record';
  const opening = cursor.flow ? `${name}: {$0}` : `${name}:\n  $0`;
  return {
    label: name,
    kind: opens ? CompletionItemKind.Module : CompletionItemKind.Property,
    detail: spec.required ? 'required' : '',
    documentation: { kind: MarkupKind.Markdown, value: `${signature(name, spec)}\n\n${spec.doc}` },
    sortText: String(place).padStart(3, '0'),
    insertTextFormat: InsertTextFormat.Snippet,
    textEdit: edit(opens ? opening : spec.type === 'list' ? `${name}: [$0]` : `${name}: $0`),
    command: { title: 'Suggest values', command: 'editor.action.triggerSuggest' },
  };
}

function moduleItem(name: string, edit: MakeEdit): CompletionItem {
  return {
    label: name,
    kind: CompletionItemKind.Module,
    detail: name === LANGUAGE_MODULE ? 'the language model; exactly one module has this name' : 'a module',
    insertTextFormat: InsertTextFormat.Snippet,
    textEdit: edit(`${name}:\n  rank_offset: \${1:0}\n  num_ranks: \${2:4}\n  tp: \${3:1}`),
  };
}

/** One value with what it would lead to. */
interface Choice {
  readonly value: string;
  readonly detail?: string;
}

function valueItems(checked: Checked, cursor: Cursor, key: string, edit: MakeEdit): CompletionItem[] {
  const path = [...cursor.path, key];
  const spec = specAt(path);
  const choices = spec ? choicesFor(checked, path, key, spec) : [];
  return choices.map(({ value, detail }, i) => ({
    label: value,
    kind: CompletionItemKind.Value,
    ...(detail !== undefined && { detail }),
    sortText: String(i).padStart(3, '0'),
    preselect: i === 0,
    filterText: value,
    textEdit: edit(value),
  }));
}

function choicesFor(checked: Checked, path: readonly string[], key: string, spec: KeySpec): Choice[] {
  const inner = spec.type === 'list' ? spec.items : spec;
  if (inner.type === 'enum') {
    return inner.options.map((value: string) => ({ value }));
  }
  if (inner.type === 'boolean') {
    return [{ value: 'true' }, { value: 'false' }];
  }
  if (key === 'order') {
    return ORDERS;
  }
  if (key === 'high_priority_stream_groups' && checked.resolved) {
    return [...new Set(processGroups(checked.resolved).map(({ name }) => name))].map((value) => ({ value }));
  }
  const { facts } = checked;
  const module = facts ? moduleAt(facts, path) : undefined;
  return facts && inner.type === 'integer' ? integerChoices(facts, module, key) : [];
}

const ORDERS: Choice[] = [
  { value: DEFAULT_ORDER, detail: 'the default' },
  { value: 'tp-cp-ep-pp-dp', detail: 'pipeline neighbours nearer than data-parallel ones' },
];

function integerChoices(facts: LayoutFacts, module: ModuleFacts | undefined, key: string): Choice[] {
  switch (key) {
    case 'layout':
      return [{ value: '1' }];
    case 'world_size':
      return worldChoices(facts);
    case 'rank_offset':
      return module ? offsetChoices(facts, module) : [];
    case 'num_ranks':
      return module ? rankChoices(facts, module) : [];
    default:
      return module ? degreeChoices(module, key) : [];
  }
}

function worldChoices({ world, modules }: LayoutFacts): Choice[] {
  const end = modules.reduce((most, { rankOffset, ranks }) => Math.max(most, (rankOffset ?? 0) + (ranks ?? 0)), 0);
  return [
    ...(world.clusterSize === undefined ? [] : [{ value: String(world.clusterSize), detail: 'nodes x gpus_per_node' }]),
    ...(end > 0 && end !== world.clusterSize ? [{ value: String(end), detail: 'the end of the last module' }] : []),
  ];
}

function offsetChoices({ modules }: LayoutFacts, module: ModuleFacts): Choice[] {
  const ends = modules
    .filter((other) => other !== module && other.ranks !== undefined && other.rankOffset !== undefined)
    .map((other) => ({ value: String((other.rankOffset ?? 0) + (other.ranks ?? 0)), detail: `behind ${other.name}` }));
  return [...ends, { value: '0', detail: 'the first rank' }];
}

function rankChoices({ modules, world }: LayoutFacts, module: ModuleFacts): Choice[] {
  const step = module.denseModel ?? 1;
  const start = module.rankOffset ?? 0;
  const next = modules
    .filter((other) => other !== module && (other.rankOffset ?? 0) > start)
    .reduce((least, other) => Math.min(least, other.rankOffset ?? least), world.size ?? start + step * 8);
  return divisors(Math.max(1, next - start))
    .filter((ranks) => ranks % step === 0)
    .reverse()
    .map((ranks) => ({ value: String(ranks), detail: `dp ${ranks / step}` }));
}

const DENSE = ['tp', 'gtp_remat', 'cp', 'pp'] as const;
const EXPERT = ['expt_tp', 'ep', 'expt_gtp_remat', 'pp'] as const;

/** The sizes of one degree that leave whole replicas with the other numbers as they are, with the dp they lead to. */
function degreeChoices(module: ModuleFacts, key: string): Choice[] {
  const { fields } = module;
  const ranks = module.own ? (module.own.num_ranks.value ?? module.ranks) : module.ranks;
  if (ranks === undefined) {
    return [];
  }
  const others = (keys: readonly (keyof typeof fields)[]) =>
    keys.reduce((product, name) => (name === key ? product : product * (fields[name].value ?? 1)), 1);
  const dense = others(DENSE);
  const expert = others(EXPERT);
  if (key === 'dp' || key === 'expt_dp') {
    const model = key === 'dp' ? dense : expert;
    return ranks % model === 0 ? [{ value: String(ranks / model), detail: 'what the ranks give' }] : [];
  }
  const isDense = DENSE.some((name) => name === key);
  const isExpert = EXPERT.some((name) => name === key);
  if (!isDense && !isExpert) {
    return [];
  }
  const fits = (size: number) =>
    (!isDense || ranks % (dense * size) === 0) && (!isExpert || ranks % (expert * size) === 0);
  return divisors(ranks)
    .filter(fits)
    .map((size) => ({
      value: String(size),
      detail: `${isDense ? `dp ${ranks / (dense * size)}` : `expt_dp ${ranks / (expert * size)}`}`,
    }));
}
