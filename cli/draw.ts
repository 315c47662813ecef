import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import type { ResolvedLayout } from '../layout';
import { colourChoices } from '../picture/colourings';
import { type DrawingId, drawingOf, hasDrawing, USUAL_CHOICE } from '../picture/drawing';
import { groupNames } from '../picture/facts';
import type { GridKind } from '../picture/logical';
import { failedRanks } from '../picture/roles';
import { type StageLayers, stageLayers } from '../picture/stageLayers';
import { svgOf } from '../picture/svg';
import { inputFiles, soundLayout } from './files';
import { complain, EXIT, exitWith, refusesToList } from './output';

/** The views by the names that the rank grid shows, and by those of its state. */
const VIEWS: Readonly<Record<string, DrawingId>> = {
  where: 'physical',
  structure: 'logical',
  groups: 'groups',
  failures: 'ntp',
  physical: 'physical',
  logical: 'logical',
  ntp: 'ntp',
};

/** The library that turns SVG into PNG. It is native code, so it is not shipped: who wants PNG installs it beside this tool. */
const RASTERIZER = '@resvg/resvg-js';

interface Options {
  readonly view: string;
  readonly format: 'svg' | 'png';
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
    .description('draw where ranks run, the structure of the model, or who talks to whom')
    .argument('<file>', 'a layout file; - is standard input')
    .addOption(new Option('--view <name>', 'what is drawn').choices(Object.keys(VIEWS)).default('where'))
    .addOption(new Option('--format <format>', 'form of the picture').choices(['svg', 'png']).default('svg'))
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
    if (layout && !refusesToList(file, layout.resolved.worldSize)) {
      await drawLayout(file, layout.resolved, stageLayers(layout.facts), options);
    }
  }
}

async function drawLayout(
  file: string,
  layout: ResolvedLayout,
  stages: readonly StageLayers[],
  options: Options,
): Promise<void> {
  const view = VIEWS[options.view] ?? 'physical';
  const problem = whyNot(layout, view, options);
  if (problem !== null) {
    complain(`${file}: ${problem}`);
    exitWith(EXIT.unusable);
    return;
  }
  const { colour = '', group = '', module = '', grid } = options;
  const drawing = drawingOf(layout, view, { ...USUAL_CHOICE, colour, group, module, grid }, stages);
  const name = layout.name ?? (file === '-' ? '' : basename(file));
  const svg = svgOf({ ...drawing, layout, name, failed: failedRanks(layout) });
  const picture = options.format === 'svg' ? Buffer.from(svg) : await rasterized(svg);
  if (picture === null) {
    complain(
      `PNG needs ${RASTERIZER}: run \`npm install ${RASTERIZER}\` where this tool is installed, or use --format svg`,
    );
    exitWith(EXIT.unusable);
  } else {
    save(picture, options.output);
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
    complain(`${output}: ${error instanceof Error ? error.message : String(error)}`);
    exitWith(EXIT.unusable);
  }
}

/** An SVG text as PNG; null where the library for it is not installed. */
async function rasterized(svg: string): Promise<Buffer | null> {
  try {
    const library: unknown = await import(RASTERIZER);
    return isRasterizer(library)
      ? Buffer.from(new library.Resvg(svg, { fitTo: { mode: 'zoom', value: 2 } }).render().asPng())
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
