/** The views in the order in which they are offered. */
export const VIEW_IDS = [
  'tradeoffs',
  'physical',
  'logical',
  'groups',
  'cost',
  'sequence',
  'ntp',
  'world',
  'smoke',
  'run',
  'table',
] as const;

export type ViewId = (typeof VIEW_IDS)[number];
