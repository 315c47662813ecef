import { basename, extname } from 'node:path';
import { type Command, Option } from 'commander';
import { type ResolvedLayout, sequencePlans } from '../layout';
import { colourChoices } from '../picture/colourings';
import { costHeadline, costOf } from '../picture/cost';
import { costDiagram } from '../picture/costDiagram';
import { type DrawingId, drawingOf, hasDrawing, USUAL_CHOICE } from '../picture/drawing';
import { subject } from '../picture/headline';
import type { GridKind } from '../picture/logical';
import { groupNames } from '../picture/rankDetails';
import { failedRanks } from '../picture/roles';
import { sequenceDiagram, shareSentence } from '../picture/sequence';
import { stageLayers } from '../picture/stageLayers';
import { DIAGRAM_WIDTH, diagramSvg, svgOf } from '../picture/svg';
import { csvLines } from '../picture/table';
import { outlineOf, worldDiagram, worldSentence } from '../picture/worldDiagram';
import { inputFiles, type SoundLayout, soundLayout } from './files';
import { fail, print, refusesToList } from './output';
import { saveFile } from './save';

/** What is drawn: a layout without errors, what its picture is called, and the options. */
interface Subject extends SoundLayout {
  readonly name: string;
  readonly options: Options;
}

/** A picture as SVG, or why there is none. */
type Svg = { readonly text: string } | { readonly problem: string };

/** The views that are pictures of ranks, by the names that the rank grid shows, and by those of its state. */
const PICTURES: Readonly<Record<string, DrawingId>> = {
  where: 'physical',
  structure: 'logical',
  groups: 'groups',
  failures: 'ntp',
  physical: 'physical',
  logical: 'logical',
  ntp: 'ntp',
};

/** The views that are diagrams, which cost the same whatever the size of the world. */
const DIAGRAMS: Readonly<Record<string, (subject: Subject) => Svg>> = {
  cost: costSvg,
  tokens: tokensSvg,
  sequence: tokensSvg,
  world: worldSvg,
};

function costSvg({ name, facts, resolved: layout }: Subject): Svg {
  const result = costOf(facts);
  const diagram = costDiagram(result, DIAGRAM_WIDTH);
  return { text: diagramSvg({ name, headline: costHeadline(layout, result), diagram }) };
}

function tokensSvg({ name, facts, resolved: layout }: Subject): Svg {
  const sequences = sequencePlans(facts);
  const headline = { title: sequences.map(shareSentence).join(' '), sub: subject(layout) };
  return sequences.length === 0
    ? { problem: 'the file does not say how long sequences are (sequence.seq_length)' }
    : { text: diagramSvg({ name, headline, diagram: sequenceDiagram(sequences, DIAGRAM_WIDTH) }) };
}

function worldSvg({ name, facts, resolved: layout }: Subject): Svg {
  const outline = outlineOf(facts);
  const headline = { title: worldSentence(outline), sub: subject(layout) };
  return { text: diagramSvg({ name, headline, diagram: worldDiagram(outline, DIAGRAM_WIDTH) }) };
}

/** The view that is numbers alone. */
const TABLE = 'table';

/** The library that turns SVG into PNG. It is native code, so it is not shipped but installed beside this tool. */
const RASTERIZER = '@resvg/resvg-js';

/** The library has no `system-ui`, and would write with serifs. */
const SANS = { darwin: 'Helvetica', win32: 'Segoe UI' }[String(process.platform)] ?? 'DejaVu Sans';

/** The forms of a picture, which are also the endings of its file. */
const FORMS = ['svg', 'png', 'csv'] as const;

type Form = (typeof FORMS)[number];

interface Options {
  readonly view: string;
  readonly format?: Form;
  readonly output?: string;
  readonly colour?: string;
  readonly group?: string;
  readonly grid: GridKind;
  readonly module?: string;
}

const HELP = `
Exit status: 0 drawn, 1 the layout has errors, 2 a file or option cannot be used.

Examples:
  parallelism-layout draw train.layout.yaml -o pictures/where.svg
  parallelism-layout draw train.layout.yaml --view groups --group dp_cp -o dp_cp.png
  parallelism-layout draw train.layout.yaml --view table -o ranks.csv`;

/** Adds `draw`: a picture of a layout for documents, pull requests and CI. */
export function addDrawCommand(program: Command): void {
  program
    .command('draw')
    .description('draw ranks on nodes, the structure of the model, process groups, or costs')
    .argument('<file>', 'a layout file; - is standard input')
    .addOption(
      new Option('--view <name>', 'what is drawn')
        .choices([...Object.keys(PICTURES), ...Object.keys(DIAGRAMS), TABLE])
        .default('where'),
    )
    .addOption(
      new Option(
        '-f, --format <format>',
        'form of the picture (default: by the ending of --output, else "svg"; the table is csv)',
      ).choices(FORMS),
    )
    .option('-o, --output <file>', 'where the picture is written, with its folder; standard output without it')
    .option('--colour <dimension>', 'what colours the ranks: tp, pp, module, node, ...')
    .option('--group <kind>', 'the kind of process group that the view groups shows')
    .addOption(
      new Option('--grid <grid>', 'which grid the view structure shows').choices(['dense', 'expert']).default('dense'),
    )
    .option('--module <name>', 'the module whose grid is shown where modules share their ranks')
    .addHelpText('after', HELP)
    .action(draw);
}

async function draw(file: string, options: Options): Promise<void> {
  const form = formOf(options);
  if ('problem' in form) {
    fail(form.problem);
    return;
  }
  for (const input of inputFiles([file])) {
    const layout = soundLayout(input);
    if (layout) {
      const name = layout.resolved.name ?? (file === '-' ? '' : basename(file));
      await drawLayout(file, { ...layout, name, options }, form.form);
    }
  }
}

/** The form that is written: of `--format`, of the ending of the file, or of the view; or why the two contradict. */
function formOf({ view, format, output = '' }: Options): { readonly form: Form } | { readonly problem: string } {
  const ending = extname(output).slice(1);
  const ended = FORMS.find((form) => form === ending.toLowerCase());
  if (format !== undefined && ended !== undefined && ended !== format) {
    return {
      problem: `${output} ends in .${ending}, but --format is ${format}; leave --format out, or write .${format}`,
    };
  }
  if (format === undefined && ended === undefined && ending !== '') {
    return { problem: `${output} ends in .${ending}; write .svg, .png or .csv, or give --format` };
  }
  return { form: format ?? ended ?? (view === TABLE ? 'csv' : 'svg') };
}

async function drawLayout(file: string, drawn: Subject, format: Form): Promise<void> {
  const { view, output } = drawn.options;
  const { resolved: layout } = drawn;
  const diagram = DIAGRAMS[view];
  const refuse = (problem: string) => {
    fail(`${file}: ${problem}`);
  };
  if (!diagram && refusesToList(file, layout.worldSize)) {
    return;
  }
  if ((view === TABLE) !== (format === 'csv')) {
    refuse(view === TABLE ? 'the table is written as csv' : 'only the view table is written as csv');
  } else if (view === TABLE) {
    await (output === undefined ? print(csvLines(layout)) : saveFile(output, csvLines(layout)));
  } else {
    const svg = diagram ? diagram(drawn) : pictureSvg(drawn);
    if ('problem' in svg) {
      refuse(svg.problem);
    } else {
      await savePicture(svg.text, format, output);
    }
  }
}

function pictureSvg({ name, facts, resolved: layout, options }: Subject): Svg {
  const view = PICTURES[options.view] ?? 'physical';
  const problem = whyNot(layout, view, options);
  if (problem !== null) {
    return { problem };
  }
  const { colour = '', group = '', module = '', grid } = options;
  const known = { stages: stageLayers(facts), flows: costOf(facts).cost?.flows ?? [] };
  const drawing = drawingOf(layout, view, { ...USUAL_CHOICE, colour, group, module, grid }, known);
  return { text: svgOf({ ...drawing, layout, name, failed: failedRanks(layout) }) };
}

async function savePicture(svg: string, format: Form, output: string | undefined): Promise<void> {
  const picture = format === 'png' ? await rasterized(svg) : Buffer.from(svg);
  if (!picture) {
    fail(
      `PNG needs ${RASTERIZER}: run 'npm install --global ${RASTERIZER}' (without --global where a project has this tool), or write SVG`,
    );
  } else if (output === undefined) {
    process.stdout.write(picture);
  } else {
    saveFile(output, [picture]);
  }
}

/** Why a picture that was asked for cannot be drawn; null where it can. */
function whyNot(layout: ResolvedLayout, view: DrawingId, { colour, group, module }: Options): string | null {
  if (!hasDrawing(layout, view)) {
    return 'no rank is spare or failed, so there is nothing to draw in this view';
  }
  const modules = layout.modules.flatMap(({ name }) => name ?? []);
  const asked = [
    { what: 'colouring', name: colour, known: colourChoices(layout).map(({ id }) => id) },
    { what: 'process group with peers', name: group, known: groupNames(layout) },
    { what: 'module', name: module, known: modules },
  ];
  const wrong = asked.find(({ name, known }) => name !== undefined && !known.includes(name));
  return wrong ? `no ${wrong.what} is called ${wrong.name}; there is ${wrong.known.join(', ')}` : null;
}

/** An SVG text as PNG; null where the library for it is not installed. */
async function rasterized(svg: string): Promise<Buffer | null> {
  try {
    const library: unknown = await import(RASTERIZER);
    if (!isRasterizer(library)) {
      return null;
    }
    const options = { fitTo: { mode: 'zoom', value: 2 }, font: { defaultFontFamily: SANS } };
    return Buffer.from(new library.Resvg(svg, options).render().asPng());
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).endsWith('MODULE_NOT_FOUND')) {
      return null;
    }
    throw error;
  }
}

interface Rasterizer {
  readonly Resvg: new (svg: string, options: object) => { render(): { asPng(): Uint8Array } };
}

const isRasterizer = (library: unknown): library is Rasterizer =>
  typeof library === 'object' && library !== null && 'Resvg' in library && typeof library.Resvg === 'function';
