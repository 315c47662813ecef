export * from './gpus';
export * from './job';
export * from './memory';
export * from './time';
export * from './traffic';
