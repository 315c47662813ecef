import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { fileErrorText } from '../jobs/regularFile';
import { type LayoutFacts, type ResolvedLayout, sequencePlans } from '../layout';
import { colourChoices } from '../picture/colourings';
import { costHeadline, costOf } from '../picture/cost';
import { costDiagram } from '../picture/costDiagram';
import type { Diagram } from '../picture/diagram';
import { type DrawingId, drawingOf, hasDrawing, USUAL_CHOICE } from '../picture/drawing';
import { groupNames } from '../picture/facts';
import { type Headline, subject } from '../picture/headline';
import type { GridKind } from '../picture/logical';
import { failedRanks } from '../picture/roles';
import { sequenceDiagram, shareSentence } from '../picture/sequence';
import { stageLayers } from '../picture/stageLayers';
import { DIAGRAM_WIDTH, diagramSvg, svgOf } from '../picture/svg';
import { csvOf } from '../picture/table';
import { outlineOf, worldDiagram, worldSentence } from '../picture/world';
import { inputFiles, type SoundLayout, soundLayout } from './files';
import { complain, EXIT, exitWith, refusesToList } from './output';

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

/** A view that is no picture of ranks: its answer and its diagram; null where the layout has nothing to show in it. */
type Draught = (facts: LayoutFacts, layout: ResolvedLayout) => { headline: Headline; diagram: Diagram } | null;

const world: Draught = (facts, layout) => {
  const outline = outlineOf(facts);
  return {
    headline: { title: worldSentence(outline), sub: subject(layout) },
    diagram: worldDiagram(outline, DIAGRAM_WIDTH),
  };
};

const tokens: Draught = (facts, layout) => {
  const sequences = sequencePlans(facts);
  return sequences.length === 0
    ? null
    : {
        headline: { title: sequences.map(shareSentence).join(' '), sub: subject(layout) },
        diagram: sequenceDiagram(sequences, DIAGRAM_WIDTH),
      };
};

const cost: Draught = (facts, layout) => {
  const result = costOf(facts, layout);
  return { headline: costHeadline(layout, result), diagram: costDiagram(result, DIAGRAM_WIDTH) };
};

const DIAGRAMS: Readonly<Record<string, Draught>> = { cost, tokens, sequence: tokens, world };

/** The view that is numbers alone. */
const TABLE = 'table';

/** The library that turns SVG into PNG. It is native code, so it is not shipped: who wants PNG installs it beside this tool. */
const RASTERIZER = '@resvg/resvg-js';

/** The library knows no `system-ui`, and would write with serifs. */
const SANS = { darwin: 'Helvetica', win32: 'Segoe UI' }[String(process.platform)] ?? 'DejaVu Sans';

interface Options {
  readonly view: string;
  readonly format?: 'svg' | 'png' | 'csv';
  readonly output?: string;
  readonly colour?: string;
  readonly group?: string;
  readonly grid: GridKind;
  readonly module?: string;
}

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
      new Option('--format <format>', 'form of the picture; the table is csv (default: "svg")').choices([
        'svg',
        'png',
        'csv',
      ]),
    )
    .option('-o, --output <file>', 'where the picture is written; standard output without it')
    .option('--colour <dimension>', 'what colours the ranks: tp, pp, module, node, ...')
    .option('--group <kind>', 'the kind of process group that the view `groups` shows')
    .addOption(
      new Option('--grid <grid>', 'which grid the view `structure` shows')
        .choices(['dense', 'expert'])
        .default('dense'),
    )
    .option('--module <name>', 'the module whose grid is shown where modules share their ranks')
    .action(draw);
}

async function draw(file: string, options: Options): Promise<void> {
  for (const input of inputFiles([file])) {
    const layout = soundLayout(input);
    if (layout) {
      await drawLayout(file, layout, options);
    }
  }
}

async function drawLayout(file: string, sound: SoundLayout, options: Options): Promise<void> {
  const { resolved: layout, facts } = sound;
  const isTable = options.view === TABLE;
  const format = options.format ?? (isTable ? 'csv' : 'svg');
  const draught = DIAGRAMS[options.view];
  // a diagram costs the same whatever the size of the world
  if (!draught && refusesToList(file, layout.worldSize)) {
    return;
  }
  const refuse = (problem: string) => {
    complain(`${file}: ${problem}`);
    exitWith(EXIT.unusable);
  };
  if (isTable !== (format === 'csv')) {
    refuse(isTable ? 'the table is written as csv' : 'only the view `table` is written as csv');
  } else if (isTable) {
    save(Buffer.from(csvOf(layout)), options.output);
  } else {
    const svg = draught ? diagramOf(file, draught, facts, layout) : pictureOf(file, sound, options);
    if ('problem' in svg) {
      refuse(svg.problem);
    } else {
      await savePicture(svg.text, format, options.output);
    }
  }
}

/** A picture as SVG, or why there is none. */
type Svg = { readonly text: string } | { readonly problem: string };

const nameOf = (file: string, layout: ResolvedLayout): string => layout.name ?? (file === '-' ? '' : basename(file));

function diagramOf(file: string, draught: Draught, facts: LayoutFacts, layout: ResolvedLayout): Svg {
  const drawn = draught(facts, layout);
  return drawn
    ? { text: diagramSvg({ name: nameOf(file, layout), ...drawn }) }
    : { problem: 'the file does not say how long sequences are (`sequence.seq_length`)' };
}

function pictureOf(file: string, { resolved: layout, facts }: SoundLayout, options: Options): Svg {
  const view = PICTURES[options.view] ?? 'physical';
  const problem = whyNot(layout, view, options);
  if (problem !== null) {
    return { problem };
  }
  const { colour = '', group = '', module = '', grid } = options;
  const choice = { ...USUAL_CHOICE, colour, group, module, grid };
  const known = { stages: stageLayers(facts), flows: costOf(facts, layout).cost?.flows ?? [] };
  const drawing = drawingOf(layout, view, choice, known);
  return { text: svgOf({ ...drawing, layout, name: nameOf(file, layout), failed: failedRanks(layout) }) };
}

async function savePicture(svg: string, format: 'svg' | 'png' | 'csv', output: string | undefined): Promise<void> {
  const picture = format === 'png' ? await rasterized(svg) : Buffer.from(svg);
  if (picture === null) {
    complain(
      `PNG needs ${RASTERIZER}: run \`npm install ${RASTERIZER}\` where this tool is installed, or use --format svg`,
    );
    exitWith(EXIT.unusable);
  } else {
    save(picture, output);
  }
}

/** Why a picture that was asked for cannot be drawn; null where it can. */
function whyNot(layout: ResolvedLayout, view: DrawingId, { colour, group, module }: Options): string | null {
  const unknown = (what: string, name: string | undefined, known: readonly string[]) =>
    name === undefined || known.includes(name) ? null : `no ${what} is called ${name}; there is ${known.join(', ')}`;
  if (!hasDrawing(layout, view)) {
    return 'no rank is spare or failed, so there is nothing to draw in this view';
  }
  return (
    unknown(
      'colouring',
      colour,
      colourChoices(layout).map(({ id }) => id),
    ) ??
    unknown('process group with peers', group, groupNames(layout)) ??
    unknown(
      'module',
      module,
      layout.modules.flatMap(({ name }) => name ?? []),
    )
  );
}

function save(picture: Buffer, output: string | undefined): void {
  try {
    if (output === undefined) {
      process.stdout.write(picture);
    } else {
      writeFileSync(output, picture);
    }
  } catch (error) {
    complain(`${output}: ${fileErrorText(error)}`);
    exitWith(EXIT.unusable);
  }
}

/** An SVG text as PNG; null where the library for it is not installed. */
async function rasterized(svg: string): Promise<Buffer | null> {
  try {
    const library: unknown = await import(RASTERIZER);
    return isRasterizer(library)
      ? Buffer.from(
          new library.Resvg(svg, { fitTo: { mode: 'zoom', value: 2 }, font: { defaultFontFamily: SANS } })
            .render()
            .asPng(),
        )
      : null;
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
