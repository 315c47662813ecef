export * from './finding';
export * from './format/lines';
export * from './grid/grid';
export * from './topology/process-groups';
export * from './topology/resolved';
