import {
  appendKey,
  bringsNoError,
  type Checked,
  type Edit,
  endOfLine,
  type Field,
  LANGUAGE_MODULE,
  type LayoutFacts,
  lineBreak,
  type ModuleFacts,
  type Span,
  startOfLine,
} from '../layout';

/** Another way to write a part of a file. */
export interface Rewrite {
  readonly title: string;
  readonly edits: readonly Edit[];
}

/** Other ways to write what stands at a span, each of which brings no new error. */
export function refactors(checked: Checked, place: Span): Rewrite[] {
  const { facts, text } = checked;
  if (!facts) {
    return [];
  }
  const touched = facts.modules.filter(({ nameSpan, span }) => nameSpan.start <= place.end && span.end >= place.start);
  const offered = [
    ...(touches(facts.root.cluster, place) ? writeWorld(facts) : []),
    ...touched.flatMap((module) => [...writeDerived(text, module), ...otherShards(module, place)]),
    ...(touched.some(({ name, nameSpan }) => name === null && touches({ keySpan: nameSpan, span: nameSpan }, place))
      ? toModules(facts)
      : []),
  ];
  return offered.filter(({ edits }) => bringsNoError(checked, edits));
}

function touches({ keySpan, span }: Pick<Field<unknown>, 'keySpan' | 'span'>, place: Span): boolean {
  return keySpan.start <= place.end && span.end >= place.start;
}

function writeWorld({ root, world, text }: LayoutFacts): Rewrite[] {
  const { start } = root.cluster.keySpan;
  return root.world_size.written || world.size === undefined || root.cluster.span.start === start
    ? []
    : [insertion(`Write world_size: ${world.size}`, start, `world_size: ${world.size}${lineBreak(text)}`)];
}

/** The sizes that follow from the others, written out: they are checked from then on. */
function writeDerived(text: string, { fields, dp, exptDp, degrees, span }: ModuleFacts): Rewrite[] {
  const write = (name: string, value: number): Rewrite[] => {
    const edit = appendKey(text, span, `${name}: ${value}`);
    return edit ? [{ title: `Write the derived ${name}: ${value}`, edits: [edit] }] : [];
  };
  return [
    ...(dp !== undefined && !fields.dp.written ? write('dp', dp) : []),
    ...(exptDp !== undefined && !fields.expt_dp.written && degrees && degrees.ep > 1 ? write('expt_dp', exptDp) : []),
  ];
}

/** Generalized TP as a degree or as a number of weight shards: two ways to write the same. */
function otherShards({ fields, degrees }: ModuleFacts, place: Span): Rewrite[] {
  if (!degrees) {
    return [];
  }
  const { tp, gtpRemat, exptTp, exptGtpRemat } = degrees;
  const rewrite = (from: keyof typeof fields, to: keyof typeof fields, value: number): Rewrite[] =>
    fields[from].written && !fields[to].written && touches(fields[from], place)
      ? [
          {
            title: `Write as ${to}: ${value}`,
            edits: [
              { span: fields[from].keySpan, newText: to },
              { span: fields[from].span, newText: String(value) },
            ],
          },
        ]
      : [];
  return [
    ...rewrite('gtp_remat', 'num_weight_shards', tp * gtpRemat),
    ...rewrite('num_weight_shards', 'gtp_remat', gtpRemat),
    ...rewrite('expt_gtp_remat', 'expt_num_weight_shards', exptTp * exptGtpRemat),
    ...rewrite('expt_num_weight_shards', 'expt_gtp_remat', exptGtpRemat),
  ];
}

/** `parallelism` as the one module of a heterogeneous job, to which others can then be added. */
function toModules(facts: LayoutFacts): Rewrite[] {
  const { root, text, modules } = facts;
  const [grid] = modules;
  const { parallelism, model, sequence } = root;
  if (!grid?.degrees || grid.ranks === undefined || /[{*&]/.test(text.charAt(parallelism.span.start))) {
    return [];
  }
  const eol = lineBreak(text);
  const column = parallelism.span.start - startOfLine(text, parallelism.span.start);
  const step = ' '.repeat(column);
  const moved = [model, sequence].filter(({ written }) => written).map((field) => wholeLines(text, field));
  // the two forms have different defaults of expt_tp
  const exptTp = grid.degrees.exptTp > 1 && !grid.fields.expt_tp.written ? [`expt_tp: ${grid.degrees.exptTp}`] : [];
  const tail = moved.map(({ start, end }) => indented(text.slice(start, end).trimEnd(), step + step));
  const edits: Edit[] = [
    { span: parallelism.keySpan, newText: `modules:${eol}${step}${LANGUAGE_MODULE}` },
    ...indentLines(text, parallelism.keySpan.end, parallelism.span.end, step),
    {
      span: { start: parallelism.span.start, end: parallelism.span.start },
      newText: [`num_ranks: ${grid.ranks}`, ...exptTp, ''].join(`${eol}${step}${step}`),
    },
    ...(tail.length > 0 ? insertion('', endOfLine(text, parallelism.span.end), eol + tail.join(eol)).edits : []),
    ...moved.map((span) => ({ span, newText: '' })),
  ];
  return [{ title: 'Convert `parallelism` to `modules`', edits }];
}

function insertion(title: string, at: number, newText: string): Rewrite {
  return { title, edits: [{ span: { start: at, end: at }, newText }] };
}

/** One edit for every line that begins in a range, so that what stands on the lines is not touched. */
function indentLines(text: string, start: number, end: number, by: string): Edit[] {
  return [...text.slice(start, end).matchAll(/(?:\r\n?|\n)(?=[^\r\n])/g)].map(({ 0: eol, index }) => {
    const at = start + index + eol.length;
    return { span: { start: at, end: at }, newText: by };
  });
}

function indented(lines: string, by: string): string {
  return lines.replaceAll(/^(?=[^\r\n])/gm, by);
}

function wholeLines(text: string, { keySpan, span }: Field<unknown>): Span {
  const end = endOfLine(text, span.end);
  const eol = /^(\r\n?|\n)/.exec(text.slice(end))?.[0].length ?? 0;
  return { start: startOfLine(text, keySpan.start), end: end + eol };
}
