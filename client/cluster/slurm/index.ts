export * from './backend';
export type { Timing } from './follow';
export * from './settings';
export * from './shell';
