export * from './backend';
export * from './clusters';
export * from './events';
export * from './kinds';
export * from './local';
export * from './plan';
export * from './run';
