export * from './logLine';
export * from './measuredRun';
