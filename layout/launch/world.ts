import type { World } from './commands';
import { derived, type Facts, type Found, isKnown, ONE, product, quotient } from './value';

/** Sets the world of a job from what its launchers say. */
export function setWorld(facts: Facts, { nodes, perNode, total }: World): void {
  const counted = derived([nodes, perNode], (a, b) => a * b, 'world_size');
  const world: Found<number> | undefined = isKnown(total) ? total : (counted ?? total);
  facts.set('world_size', world ?? { unknown: 'the number of nodes and of processes a node' });
  if (isKnown(world) && world.value < 1) {
    facts.set('world_size', { unknown: 'a world of at least one rank' });
  }
  const [count, each] = [nodes ?? part(world, perNode), perNode ?? part(world, nodes)];
  if (isKnown(count) && isKnown(each) && isKnown(world)) {
    facts.set('cluster.nodes', count);
    facts.set('cluster.gpus_per_node', each);
  } else {
    facts.set('cluster.nodes', isKnown(nodes) ? nodes : undefined);
    facts.set('cluster.gpus_per_node', isKnown(perNode) ? perNode : undefined);
  }
}

/** A world that the file does not say. */
export const LAUNCHERS_WORLD: Found<number> = { unknown: 'the world of the launcher' };

/** Sets the world to what the grids of modules cover, given their names; a name that is not known is empty. */
export function coverGrids(facts: Facts, modules: readonly string[]): void {
  const ends = modules.map((name) => {
    const keys = ['rank_offset', 'num_ranks', 'tp', 'cp', 'pp', 'dp'] as const;
    const [offset, ranks, ...sizes] = keys.map((key) => facts.get(`modules.${name}.${key}`));
    return derived([offset, ...(ranks ? [ranks] : sizes)], (first, ...all) => first + product(all), 'world_size');
  });
  const world = derived(ends, (...all) => Math.max(...all), 'world_size');
  const otherwise = facts.get('world_size') ?? LAUNCHERS_WORLD;
  facts.set('world_size', isKnown(world) ? { value: world.value, source: 'default' } : otherwise);
}

function part(world: Found<number> | undefined, divisor: Found<number> | undefined): Found<number> | undefined {
  const found = derived([world, divisor], quotient, 'cluster');
  return isKnown(found) ? found : undefined;
}

/**
 * Sets what follows from the world: the data-parallel size, which Megatron never takes as an option, and the global batch
 * size, which is `micro_batch_size * dp` where no file gives it (megatron/training/arguments.py).
 */
export function deriveFromWorld(facts: Facts): void {
  const shards = facts.get('parallelism.num_weight_shards');
  const remat = shards ? derived([shards, facts.get('parallelism.tp')], quotient, 'num_weight_shards') : ONE;
  const degrees = (['tp', 'cp', 'pp'] as const).map((name) => facts.get(`parallelism.${name}`));
  const dp = derived([facts.get('world_size'), remat, ...degrees], quotient, 'dp: the degrees do not divide the world');
  facts.derive('parallelism.dp', dp);
  if (!isKnown(dp) && isKnown(facts.get('world_size')) && degrees.every(isKnown)) {
    facts.note('The degrees do not divide the world: this job does not start as it is written.');
  }
}

/** Sets the data-parallel size of hybrid sharding: how often parameters are replicated, and over how many ranks sharded. */
export function deriveSharded(facts: Facts): void {
  const sizes = [facts.get('fsdp.data_parallel_replicate_degree'), facts.get('fsdp.data_parallel_shard_degree')];
  const dp = derived(sizes, (replicas, shards) => (shards > 0 ? replicas * shards : null), 'dp');
  facts.derive('parallelism.dp', dp);
}

/** The default of the global batch size: one micro-batch a replica. */
export function deriveGlobalBatch(facts: Facts): void {
  const dp = facts.get('parallelism.dp');
  const micro = facts.get('batch.micro_batch_size');
  // a schedule gives the batches of all steps, and excludes a size
  const isOpen = !facts.get('batch.global_batch_size') && !facts.get('batch.step_batch_size_schedule');
  if (isOpen && isKnown(dp) && isKnown(micro) && typeof micro.value === 'number') {
    facts.setDefault('batch.global_batch_size', micro.value * Number(dp.value));
  }
}

/** The global batch of a framework that says how many micro-batches each replica adds up. */
export function setAccumulatedBatch(facts: Facts, accumulation: Found<number> | undefined): void {
  const factors = [accumulation, facts.get('batch.micro_batch_size'), facts.get('parallelism.dp')];
  const batch = derived(factors, (...sizes) => product(sizes), 'global_batch_size');
  facts.set('batch.global_batch_size', isKnown(batch) ? batch : undefined);
}
