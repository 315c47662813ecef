export * from './backend';
export * from './fields';
export * from './shell';
