export * from './verdict';
export { checkpointVerdicts } from './verdicts';
