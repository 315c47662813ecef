export * from './backend';
export * from './follow';
export * from './kubectl';
export * from './logs';
export * from './manifest';
export * from './pods';
export * from './settings';
