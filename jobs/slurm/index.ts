export * from './backend';
export * from './shell';
export * from './slurmFields';
