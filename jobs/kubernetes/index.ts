export * from './backend';
export * from './fields';
export * from './follow';
export * from './kubectl';
export * from './logs';
export * from './manifest';
export * from './pods';
