export * from './backend';
export * from './settings';
export * from './shell';
