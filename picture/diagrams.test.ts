import { expect, test } from 'vitest';
import { sequencePlans } from '../layout';
import type { Diagram } from './diagram';
import { sequenceDiagram, shareSentence, stripsOf } from './sequence';
import { diagramSvg } from './svg';
import { factsOf } from './testing';
import { outlineOf, worldDiagram, worldSentence } from './worldDiagram';

const textsOf = (diagram: Diagram): string[] =>
  [...diagramSvg({ name: '', headline: { title: '', sub: '' }, diagram }).matchAll(/<text[^>]*>([^<]+)</g)].map(
    ([, text = '']) => text,
  );

test.each([
  ['tp: 4', 'A rank holds 2,048 of 8,192 tokens.', 'tp 3'],
  ['cp: 4', 'A rank holds 2,048 of 8,192 tokens, one chunk from the front and one from the back.', 'cp 3'],
  [
    'tp: 2, cp: 2',
    'A rank holds 2,048 of 8,192 tokens: 2 tp ranks share the 4,096 of a cp rank, one chunk from the front and one from the back.',
    'cp 1 · tp 1',
  ],
])('tokens of %s', (degrees, sentence, last) => {
  const [plan] = sequencePlans(
    factsOf(`world_size: 4\nparallelism: {${degrees}}\nsequence: {seq_length: 8192, sequence_parallel: true}\n`),
  );
  expect(plan && shareSentence(plan)).toBe(sentence);
  expect(plan && stripsOf(plan.plan).strips.at(-1)?.name).toBe(last);
});

test('the world has a line a module, the ranks of each, and the last rank at the end of the axis', () => {
  const outline = outlineOf(
    factsOf('world_size: 8\nmodules:\n  images: {num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 4}\n'),
  );
  expect(worldSentence(outline)).toBe('Every rank belongs to exactly one module.');
  expect(textsOf(worldDiagram(outline, 800))).toEqual([
    'images',
    '4 ranks',
    '0 – 3',
    'language',
    '4 ranks',
    '4 – 7',
    '0',
    '2',
    '4',
    '6',
    '7',
  ]);
});

test('ranks that no module has, that several have and that do not exist have lines of their own', () => {
  const outline = outlineOf(
    factsOf(
      'world_size: 8\nmodules:\n  images: {rank_offset: 1, num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 6}\n',
    ),
  );
  expect(worldSentence(outline)).toBe(
    '1 rank belongs to no module; 1 rank belongs to several modules; a module reaches beyond 8 ranks.',
  );
  const texts = textsOf(worldDiagram(outline, 800));
  expect(texts).toEqual(expect.arrayContaining(['no module', 'several modules', 'beyond the world', '8 – 9']));
});

test('a world without modules is one grid', () => {
  expect(worldSentence(outlineOf(factsOf('world_size: 8\nparallelism: {tp: 2}\n')))).toBe('One grid uses every rank.');
});

test.each([
  ['train: {tp: 4}, rollout: {engine: vllm, tp: 2}', 'train and rollout take turns on all ranks.'],
  [
    'train: {num_ranks: 4, tp: 2}, critic: {num_ranks: 4}, rollout: {engine: vllm, rank_offset: 4, tp: 2}',
    'train and critic take turns on ranks 0 – 3; rollout runs on ranks 4 – 7.',
  ],
  [
    'a: {num_ranks: 2}, b: {rank_offset: 2, num_ranks: 2}, c: {rank_offset: 4, num_ranks: 2}, d: {rank_offset: 6}',
    '4 phases on 4 sets of ranks.',
  ],
])('phases %s', (phases, sentence) => {
  expect(worldSentence(outlineOf(factsOf(`world_size: 8\nparallelism: {}\nphases: {${phases}}\n`)))).toBe(sentence);
});

test('a phase has a line with its engine, ranks and degrees', () => {
  const facts = factsOf(
    'world_size: 16\nparallelism: {tp: 4}\nphases: {train: {tp: 4, ep: 2}, rollout: {engine: sglang}}\n',
  );
  const texts = textsOf(worldDiagram(outlineOf(facts), 800));
  expect(texts.slice(3, -7)).toEqual([
    'Phases',
    'train',
    'megatron · 16 ranks',
    '0 – 15 · tp 4 × dp 4, ep 2',
    'rollout',
    'sglang · 16 ranks',
    '0 – 15 · dp 16',
  ]);
  expect(texts.slice(-2)).toEqual([
    'rollout: the weights go from tp 4 to 16 sglang engines of tp 1 after each update',
    'Engine rank 0 keeps its part, which ranks 0 – 3 hold',
  ]);
});

test('a name and a range that their places cannot hold are shortened and moved out of the bar', () => {
  const name = 'encoder_of_images_and_videos_with_a_name_that_is_long';
  const texts = (width: number) =>
    textsOf(
      worldDiagram({ worldSize: 1000, spans: [{ name, start: 990, count: 10 }], phases: [], weights: [] }, width),
    );
  expect(texts(1600)[0]).toBe(name);
  expect(texts(300)[0]).toMatch(/^encoder_\w*…$/);
  expect(texts(300)).toContain('990 – 999');
});

test('tokens have a strip for every share', () => {
  const plans = sequencePlans(
    factsOf('world_size: 8\nparallelism: {tp: 2, cp: 2}\nsequence: {seq_length: 64, sequence_parallel: true}\n'),
  );
  const texts = textsOf(sequenceDiagram(plans, 800));
  expect(texts.filter((text) => text.startsWith('cp '))).toEqual([
    'cp 0 · tp 0',
    'cp 0 · tp 1',
    'cp 1 · tp 0',
    'cp 1 · tp 1',
  ]);
  expect(texts).toContain('token 63');
});

test('a diagram with long names is text, never markup', () => {
  const diagram = worldDiagram(
    { worldSize: 4, spans: [{ name: '<b>&"', start: 0, count: 4 }], phases: [], weights: [] },
    400,
  );
  expect(diagramSvg({ name: '', headline: { title: '', sub: '' }, diagram })).toContain('&lt;b&gt;&amp;');
});
