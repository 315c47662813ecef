import type { ModuleSequence, ResolvedLayout } from '../../layout';
import type { Colouring } from '../../picture/colour';
import type { Difference } from '../../picture/difference';
import type { Placement, Space } from '../../picture/placement';
import type { SmokeResults } from '../../picture/smokeOutcome';
import type { PanelBase, PanelFinding, PanelOutline, PanelShards } from '../panel/messages';
import type { PanelState } from '../panel/state';
import type { ViewId } from './ids';

/** What a person can do from inside a view. */
export interface Actions {
  change(part: Partial<PanelState>): void;
  /** Selects a rank and moves there. */
  choose(rank: number): void;
  /** Lights ranks and moves to the first of them. */
  light(ranks: readonly number[], what: string): void;
  toggleFailed(rank: number): void;
  revealModule(name: string | null): void;
  revealLine(line: number): void;
  copy(text: string, what: string): void;
  runSmokeJob(): void;
}

/** All that a view draws from. */
export interface Scene {
  readonly layout: ResolvedLayout;
  readonly outline: PanelOutline;
  readonly sequences: readonly ModuleSequence[];
  readonly shards: readonly PanelShards[];
  readonly findings: readonly PanelFinding[];
  readonly results: SmokeResults | null;
  readonly base: PanelBase | null;
  readonly difference: Difference | null;
  readonly state: PanelState;
  /** Ranks that the file or a person calls failed. */
  readonly failed: readonly number[];
  readonly actions: Actions;
}

/** A picture before it is known how much space there is for it: what colours the ranks, and where they will stand. */
export interface Sketch {
  readonly colouring: Colouring;
  readonly place: (space: Space) => Placement;
}

/** One way to look at a layout: a picture of ranks, something else, or a picture with something under it. */
export interface View {
  readonly id: ViewId;
  readonly label: string;
  /** Whether the layout has something to show here; always, where it is left out. */
  readonly available?: (scene: Scene) => boolean;
  readonly pickers?: (scene: Scene) => HTMLElement[];
  /** Null where there is no picture now. */
  readonly picture?: (scene: Scene, layout: ResolvedLayout) => Sketch | null;
  readonly content?: (scene: Scene) => HTMLElement | null;
}
