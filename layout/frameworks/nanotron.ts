import { type Framework, parallelDegree, type Sizes, sized } from './framework';

const product = ({ tp = 1, cp = 1, dp = 1, pp = 1 }: Sizes): number => tp * cp * dp * pp;

/** The message has the pipeline size in the place of the context-parallel one, as the source does. */
const productWords = (sizes: Sizes, world: number): string => {
  const { tp, cp, dp, pp } = sizes;
  return `TP*CP*DP*PP=${tp}*${pp}*${cp}*${dp}=${product(sizes)} != WORLD_SIZE=${world}`;
};

/** nanotron: `ParallelContext` in src/nanotron/parallel/context.py. */
export const nanotron: Framework = {
  name: 'nanotron',
  title: 'nanotron',
  revision: '2411b022a7',
  source: 'huggingface/nanotron',
  world: {
    degrees: [parallelDegree('tp'), parallelDegree('cp'), parallelDegree('dp', 'rest'), parallelDegree('pp')],
    predicts: productWords,
    belowOne: (_, sizes, world) =>
      product(sizes) === world ? 'can only specify one unknown dimension' : productWords(sizes, world),
    // the ranks are reshaped with the expert degree, which the product leaves out
    experts: {
      count: () => 1,
      axes: [],
      predicts: (_, __, world) => `cannot reshape array of size ${world} into shape`,
    },
    expertTp: 'tp',
  },
  meshes: [
    {
      axes: ['tp', 'cp', 'dp', 'pp'].map(sized),
      groups: [
        { name: 'tp', axes: ['tp'], carries: 'activations of every layer' },
        { name: 'cp', axes: ['cp'], carries: 'keys and values of attention' },
        { name: 'dp', axes: ['dp'], carries: 'gradients' },
        { name: 'pp', axes: ['pp'], carries: 'activations and their gradients between stages' },
        { name: 'mp', axes: ['tp', 'pp'], carries: 'the norm of gradients' },
        { name: 'dp_cp', axes: ['cp', 'dp'], carries: 'gradients with context parallelism' },
      ],
    },
  ],
  reads:
    'A configuration YAML, alone or behind `torchrun run_train.py --config-file`: `parallelism`, `tokens`, `model.model_config`. The launcher gives the world; a file that is read alone says it by the product of its degrees.',
  notes: [
    '`context_parallel_size` makes groups, but only some models use them; the others train on whole sequences on every rank.',
    'The message of a wrong product names `cp` and shows the pipeline size in its place.',
  ],
  example: 'layout: 1\nworld_size: 16\nlaunch: {family: nanotron}\nparallelism: {tp: 2, pp: 2, dp: 4}\n',
  heads: {
    heads: (heads, tp) => `num_attention_heads (${heads}) must be divisible by tp (${tp})`,
    keyValueHeads: (heads, tp) =>
      heads < tp
        ? `num_key_value_heads (${heads}) must be >= tp (${tp})`
        : `Number of key/value heads (${heads}) must be divisible by TP size (${tp}).`,
  },
  rules: {
    own: ['framework-world', 'framework-experts', 'framework-heads', 'nanotron-nodes', 'nanotron-accumulation'],
    megatron: 'none',
  },
  core: null,
};
