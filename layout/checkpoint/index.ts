export { type ShardLinks, ShardMap } from './shards';
export * from './verdict';
export { checkpointVerdicts } from './verdicts';
export { type WeightUpdate, weightUpdateLines, weightUpdates } from './weightUpdate';
