import type { ResolvedLayout } from '../layout';
import type { Colouring } from './colour';
import { colourIn, colouringBy, groupColouring } from './colourings';
import { type Example, exampleOf } from './example';
import type { Flow } from './flows';
import { groupsHeadline, type Headline, structureHeadline, subject, whereHeadline } from './headline';
import { type LogicalChoice, logicalPlacement } from './logical';
import { physicalPlacement } from './physical';
import type { Placement, Space } from './placement';
import { coordinatesOf, groupNames, modulesOf } from './rankDetails';
import { hasRoles, ntpShape, roleColouring } from './roles';
import type { StageLayers } from './stageLayers';

/** The pictures of ranks that follow from a layout alone. */
export type DrawingId = 'physical' | 'logical' | 'groups' | 'ntp';

/** What a person chose for a picture; what the layout does not have has its usual value. */
export interface DrawingChoice extends LogicalChoice {
  readonly colour: string;
  readonly group: string;
}

export const USUAL_CHOICE: DrawingChoice = { colour: '', group: '', grid: 'dense', across: '', down: '', module: '' };

/** A picture before it is known how much space there is for it. */
export interface Drawing {
  readonly headline: Headline;
  readonly colouring: Colouring;
  /** Where ranks are drawn. */
  readonly place: (space: Space) => Placement;
  /** The lines under the number of a rank in a large cell. */
  readonly describe: (rank: number) => readonly string[];
  readonly example?: Example | null;
}

/** A picture without its answer. */
export type Sketch = Omit<Drawing, 'headline'>;

/** What is known of a layout beside its ranks. */
export interface Known {
  /** The layers of its pipeline stages. */
  readonly stages: readonly StageLayers[];
  /** What travels in a step. */
  readonly flows: readonly Flow[];
}

const NOTHING: Known = { stages: [], flows: [] };

/** The picture of a layout in one view. */
export function drawingOf(
  layout: ResolvedLayout,
  id: DrawingId,
  choice: DrawingChoice,
  known: Known = NOTHING,
): Drawing {
  switch (id) {
    case 'physical':
      return physical(layout, choice, known);
    case 'logical':
      return logical(layout, choice, known);
    case 'groups':
      return groups(layout, choice, known);
    case 'ntp':
      return nonuniform(layout);
  }
}

/** Worlds of more ranks are neither drawn nor compared rank by rank: both take some bytes a rank. */
export const MAX_DRAWN = 16_777_216;

export const isDrawn = ({ worldSize }: ResolvedLayout): boolean => worldSize <= MAX_DRAWN;

/** Whether a layout has something to show in a view. */
export const hasDrawing = (layout: ResolvedLayout, id: DrawingId): boolean => id !== 'ntp' || hasRoles(layout);

/** The chosen kind of process group, or the first that has peers. */
export function groupIn(layout: ResolvedLayout, group: string): string {
  const names = groupNames(layout);
  return names.find((name) => name === group) ?? names.find((name) => name === 'tp') ?? names[0] ?? 'tp';
}

function physical(layout: ResolvedLayout, { colour }: DrawingChoice, { stages }: Known): Drawing {
  return {
    headline: whereHeadline(layout),
    colouring: colouringBy(layout, colourIn(layout, colour)),
    place: (space) => physicalPlacement(layout, space, stages),
    describe: (rank) => coordinateLines(layout, rank),
  };
}

function logical(layout: ResolvedLayout, choice: DrawingChoice, { stages }: Known): Drawing {
  const module = layout.modules.find(({ name }) => name === choice.module) ?? layout.modules[0];
  // colocated modules share their ranks: coordinates are those of the chosen one
  const shown = layout.mode === 'colocated' && module ? { ...layout, modules: [module] } : layout;
  return {
    headline: structureHeadline(layout, module, choice.grid),
    colouring: colouringBy(shown, colourIn(shown, choice.colour)),
    place: (space) => logicalPlacement(layout, choice, space, stages),
    describe: (rank) => coordinateLines(shown, rank),
  };
}

function groups(layout: ResolvedLayout, choice: DrawingChoice, { stages, flows }: Known): Drawing {
  const name = groupIn(layout, choice.group);
  const colouring = groupColouring(layout, name);
  return {
    headline: groupsHeadline(layout, name, flows),
    colouring,
    example: exampleOf(layout, name, colouring),
    place: (space) => physicalPlacement(layout, space, stages),
    describe: (rank) => {
      const value = colouring.valueOf(rank);
      return [value < 0 ? 'no group' : colouring.label(value), ...coordinateLines(layout, rank)];
    },
  };
}

function nonuniform(layout: ResolvedLayout): Drawing {
  return {
    headline: { title: nonuniformSentence(layout), sub: subject(layout) },
    colouring: roleColouring(layout),
    place: (space) => logicalPlacement(layout, { grid: 'dense', across: 'tp', down: 'dp', module: '' }, space),
    describe: (rank) => coordinateLines(layout, rank),
  };
}

function nonuniformSentence(layout: ResolvedLayout): string {
  const { ntp } = layout;
  if (!ntp || ntp.tpSpares === 0) {
    return 'No TP slot is given up.';
  }
  const { dp } = ntpShape(layout);
  const reduced = Math.min(ntp.numReducedTpDpRanks, dp);
  const replicas = reduced === 1 ? 'Replica 0 runs' : `Replicas 0 to ${reduced - 1} run`;
  const others = dp > reduced ? `; the others run all ${ntp.tpBase}` : '';
  return `${replicas} ${ntp.tpBase - ntp.tpSpares} of ${ntp.tpBase} TP slots${others}.`;
}

/** The module of a rank and its coordinates, two a line. */
export function coordinateLines(layout: ResolvedLayout, rank: number): string[] {
  const [module] = modulesOf(layout, rank);
  if (!module) {
    return [];
  }
  const coordinates = coordinatesOf(layout, module, rank);
  const pairs = coordinates.flatMap((_, i) => (i % 2 === 0 ? coordinates.slice(i, i + 2).join(' · ') : []));
  return module.name === null ? pairs : [module.name, ...pairs];
}
