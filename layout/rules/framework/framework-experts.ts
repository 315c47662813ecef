import { sizedDegrees, sizesOf } from '../../frameworks';
import { changes } from '../fixes';
import { divisors, eitherNumber, nearestDivisors } from '../numbers';
import { writtenRelated } from '../related';
import { inFramework, job, type Rule } from '../rule';

export const frameworkExperts: Rule = {
  code: 'framework-experts',
  severity: 'error',
  title: 'ep does not divide the ranks that share the experts',
  effect: 'the framework stops on every rank',
  what: '`ep` does not divide the ranks that the framework spreads experts over: `dp_shard * cp * tp` in torchtitan, `dp` in DeepSpeed, one rank in nanotron, which has the option but no room for it in its grid. Or `ep` does not divide `num_experts`.',
  why: 'Expert parallelism is laid over ranks that share the other layers in another way; experts have no tensor parallelism of their own there.',
  failing: job(8, 'pp: 2, ep: 8', 'launch: {family: torchtitan}', 'fsdp: {data_parallel_shard_degree: 4}'),
  sources: [
    inFramework('pytorch/torchtitan', 'torchtitan/distributed/parallel_dims.py', 'ParallelDims._validate'),
    inFramework('huggingface/nanotron', 'src/nanotron/parallel/context.py', 'ParallelContext._init_parallel_groups'),
  ],
  *check({ framework, root, world, modules }) {
    const ep = root.parallelism.value?.ep;
    const degrees = framework?.world && sizedDegrees(framework.world, root, world.size);
    const experts = framework?.world?.experts;
    if (!experts || !degrees || !ep?.value || world.size === undefined) {
      return;
    }
    const sizes = sizesOf(degrees);
    const product = degrees.reduce((all, { size }) => all * size, 1);
    const ranks = experts.count(sizes);
    // a world that the degrees do not make is reported first
    if (product !== world.size) {
      return;
    }
    const axes = experts.axes.filter((axis) => (sizes[axis] ?? 1) > 1);
    const terms = axes.map((axis) => `${axis} ${sizes[axis]}`).join(' x ');
    if (ranks % ep.value !== 0) {
      const better = nearestDivisors(ranks, ep.value, 3);
      const over = axes.length === 0 ? 'the one rank' : axes.length === 1 ? terms : `${terms} = ${ranks} ranks`;
      yield {
        message: `ep ${ep.value} does not divide ${over} that ${framework.title} spreads experts over. Use ep ${eitherNumber(better)}.`,
        ...changes('ep', ep, ...better),
        related: degrees
          .filter(({ degree }) => axes.includes(degree.name))
          .flatMap(({ degree, field }) => (field ? writtenRelated(degree.name, field) : [])),
        predicts: experts.predicts(ep.value, ranks, world.size),
      };
      return;
    }
    const field = modules[0]?.model.value?.num_experts;
    const count = field?.value;
    if (field && count !== undefined && ep.value > 1 && count % ep.value !== 0) {
      const better = divisors(count, ep.value - 1)
        .filter((size) => ranks % size === 0)
        .slice(-3);
      yield {
        message: `ep ${ep.value} does not divide ${count} experts. Use ep ${eitherNumber(better)}.`,
        ...changes('ep', ep, ...better),
        related: writtenRelated('num_experts', field),
      };
    }
  },
};
