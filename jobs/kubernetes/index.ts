export * from './backend';
export * from './follow';
export * from './kubectl';
export * from './kubernetesFields';
export * from './logs';
export * from './manifest';
export * from './pods';
