/** How sure each kind of evidence makes an accusation, from 0 to 1. Accusations rest on these numbers alone. */
export const CONFIDENCE = {
  /** A whole dump shows that the rank has not come. */
  seenAbsent: 0.95,
  /** Its launcher saw it end by itself, while others wait for it. */
  endedWhileMissed: 0.95,
  /** Ranks with the same program, or most members of the group, did otherwise. */
  peersDiffer: 0.9,
  /** It left no dump, is alone in being missed, and everybody that it could wait for is there. */
  aloneMissed: 0.9,
  /** Its launcher saw it end first, by a signal or an exception of its own. */
  endedFirst: 0.9,
  /** Its process does not answer RAS. */
  unanswered: 0.8,
  /** A log or RAS shows that it has not come. */
  toldAbsent: 0.8,
  /** Its own earlier steps speak against it. */
  history: 0.8,
  /** One peer and nothing else speaks against it. */
  onePeer: 0.7,
  /** Several explanations are possible: logs and RAS alone, an exception that nothing confirms, several ranks that ended. */
  open: 0.6,
  /** Both sides of a disagreement are equally likely. */
  either: 0.5,
  /** Another rank may be at fault in its place. */
  secondary: 0.4,
  /** An exit code without a reason. */
  exitCode: 0.3,
  /** The least that is said of a rank. */
  least: 0.05,
} as const;

/** Below this, an accusation is a guess. */
export const GUESS = 0.5;

/** The confidence in each of several ranks one of which is at fault. */
export function shared(ranks: number): number {
  return 1.2 / Math.max(1, ranks);
}
