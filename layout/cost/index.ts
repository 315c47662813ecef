export * from './estimate';
export * from './fromLayout';
export * from './gpus';
export * from './job';
export * from './memory';
export * from './plan';
export * from './time';
export * from './traffic';
