export * from './logLine';
export * from './measuredRun';
export type * from './measuredRunOutput';
