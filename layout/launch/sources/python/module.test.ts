import { describe, expect, test } from 'vitest';
import { readLaunchFile } from '../../read';

function read(text: string, job?: string) {
  return readLaunchFile('recipe.py', text, () => null, { job });
}

function values(text: string, job?: string): Record<string, unknown> {
  return Object.fromEntries(read(text, job).values.map(({ key, value }) => [key, value]));
}

const RECIPES = `"""Recipes."""
import os

LENGTH: int = 8 * 1024


def _common(tp=2):
    cfg = _pretrain_common()
    cfg.model = Bridge.from_pretrained("x").get_model_config()
    cfg.model.tensor_model_parallel_size = tp
    cfg.train.micro_batch_size = 1  # a comment: ) ] }
    return cfg


def small() -> ConfigContainer:
    cfg = _common()
    cfg.model.pipeline_model_parallel_size = 1
    cfg.model.seq_length = LENGTH
    cfg.model.virtual_pipeline_model_parallel_size = None
    return cfg


def large() -> ConfigContainer:
    cfg = _common(tp=int(os.environ.get("TP", "8")))
    cfg.model.pipeline_model_parallel_size = 4
    if os.path.exists("/tmp"):
        cfg.model.context_parallel_size = 2
    cfg.train.global_batch_size = 64 if LENGTH else 32
    return cfg
`;

describe('Megatron Bridge recipes in Python', () => {
  test('a recipe is chosen by name or number; without a choice only what all agree on is known', () => {
    expect(values(RECIPES, 'small')).toMatchObject({
      'parallelism.tp': 2,
      'parallelism.pp': 1,
      'sequence.seq_length': 8192,
      'batch.micro_batch_size': 1,
      'parallelism.ep': null,
    });
    expect(values(RECIPES, '2')).toMatchObject({ 'parallelism.tp': 8, 'parallelism.pp': 4 });
    expect(values(RECIPES)).toMatchObject({ 'parallelism.tp': null, 'batch.micro_batch_size': 1 });
    expect(read(RECIPES).notes).toEqual([
      'The file starts 2 different jobs (small, large); values in which they differ are unknown. Choose one with --job.',
    ]);
    expect(read(RECIPES, 'medium').problem).toBe('There is no job medium. The file has small, large.');
  });

  test('what a condition sets, and what Python computes, is unknown', () => {
    expect(values(RECIPES, 'large')).toMatchObject({ 'parallelism.cp': null, 'batch.global_batch_size': null });
  });

  test('places are lines of the file', () => {
    const [tp] = read(RECIPES, 'small').values.filter(({ key }) => key === 'parallelism.tp');
    expect(tp?.source).toEqual({ file: 'recipe.py', line: 7 });
  });

  test.each([
    ['mutate(cfg)'],
    ['cfg.model.update(x)\n    mutate(cfg.model)'],
    ['cfg["model"] = other()'],
    ['cfg, y = other()'],
    ['for cfg in others():\n        pass'],
  ])('a value is not known where other code may have changed it: %s', (line) => {
    const text = `def recipe():\n    cfg = ConfigContainer(model=Model(tensor_model_parallel_size=2), train=Train(micro_batch_size=1))\n    ${line}\n    return cfg\n`;
    expect(values(text)['parallelism.tp'] ?? null).toBeNull();
  });

  test('keyword arguments of constructors, dicts of arguments and a main block are read', () => {
    const made = 'def a():\n    return ConfigContainer(model=Provider(tensor_model_parallel_size=4, bf16=True))\n';
    expect(values(made)).toMatchObject({ 'parallelism.tp': 4, 'model.params_dtype': 'bf16' });
    const kept =
      'def b(**user):\n    args: Args = {"tensor_model_parallel_size": 2, "micro_batch_size": 3}\n    return common(**{**args, **user})\n';
    expect(values(kept)).toMatchObject({ 'parallelism.tp': 2, 'batch.micro_batch_size': 3 });
    const main =
      'if __name__ == "__main__":\n    cfg = Config(model=M(pipeline_model_parallel_size=2))\n    pretrain(cfg)\n';
    expect(values(main)).toMatchObject({ 'parallelism.pp': 2 });
  });

  test('module grids: each module has a grid, and the world is where the last one ends', () => {
    const text = `def parallelism():
    return MegatronMIMOParallelismConfig(
        module_parallelisms={
            "language": ModuleParallelismConfig(tensor_model_parallel_size=4, data_parallel_size=1),
            "images": ModuleParallelismConfig(
                tensor_model_parallel_size=int(os.getenv("VISION_TP", 2)), data_parallel_size=2, rank_offset=4
            ),
        },
    )
`;
    expect(values(text)).toMatchObject({
      'modules.language.tp': 4,
      'modules.language.expt_tp': 1,
      'modules.images.tp': 2,
      'modules.images.rank_offset': 4,
      world_size: 8,
    });
  });

  test('a file without a recipe is none', () => {
    expect(read('def f(x):\n    return x + 1\n').family).toBeNull();
    expect(read('x = """never closed').family).toBeNull();
  });
});
