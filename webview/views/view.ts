import type { ResolvedLayout } from '../../layout';
import type { Diagram } from '../../picture/diagram';
import type { Sketch } from '../../picture/drawing';
import type { Conditions } from '../../picture/find';
import type { Headline } from '../../picture/headline';
import type { FromPanel } from '../panel/messages';
import type { PanelModel, Told } from '../panel/model';
import type { PanelState } from '../panel/state';
import type { ViewId } from './ids';

/** What a person can do from inside a view. */
export interface Actions {
  change(part: Partial<PanelState>): void;
  /** Selects a rank and moves there. */
  choose(rank: number): void;
  /** Highlights ranks and moves to the first of them. */
  light(ranks: readonly number[], what: string): void;
  /** Shows ranks alone while a list entry is pointed at; none with an empty list; `before`: those of the layout that is compared with. */
  preview(ranks: readonly number[], before?: readonly number[]): void;
  toggleFailed(rank: number): void;
  /** Tells the editor to do something. */
  send(message: FromPanel): void;
  /** Says something to a screen reader. */
  announce(text: string): void;
  copy(text: string, what: string): void;
}

/** All that a view draws from: what the editor has said, and what a person chose. */
export interface Scene extends Readonly<Omit<PanelModel, 'layout' | 'told' | 'receive'>>, Told {
  readonly state: PanelState;
  /** Ranks that the file or a person calls failed. */
  readonly failed: readonly number[];
  readonly actions: Actions;
  /** The width available to diagrams and tables, in pixels. */
  readonly width: number;
}

/** Words that a search may use. */
export const conditionsOf = ({ failed, results, difference }: Scene): Conditions => ({
  failed: [...new Set([...failed, ...(results?.suspects ?? [])])],
  differs: difference?.ranks ?? [],
});

/** One way to look at a layout: a picture of ranks, something else, or a picture with something under it. */
export interface View {
  readonly id: ViewId;
  readonly label: string;
  /** The question that it answers. */
  readonly question: string;
  /** Whether the layout has something to show here; always, where it is left out. */
  readonly available?: (scene: Scene) => boolean;
  /** What can be chosen for it. */
  readonly pickers?: (scene: Scene) => HTMLElement[];
  /** Its answer in one line. */
  readonly headline: (scene: Scene) => Headline;
  /** Null while there is no picture. */
  readonly picture?: (scene: Scene, layout: ResolvedLayout) => Sketch | null;
  /** The exported diagram of a view without a picture of ranks. */
  readonly diagram?: (scene: Scene, width: number) => Diagram;
  readonly content?: (scene: Scene) => HTMLElement | null;
  /** Whether it has nothing to do with single ranks: the list beside it is hidden. */
  readonly isWide?: boolean;
}
