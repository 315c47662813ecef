import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { nameDisagrees } from './name-disagrees';

test('name-disagrees', () => {
  const said = reports(nameDisagrees, {
    'a name that agrees': job(16, 'tp: 2', 'name: llama-tp2-dp8'),
    'a name that agrees with one of the modules':
      'layout: 1\nname: vlm-tp4\nworld_size: 8\nmodules:\n  images: {num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 4, tp: 4}\n',
    'letters in front make another word': job(16, 'tp: 2', 'name: http4'),
    'a degree of experts that cannot be used is not compared': job(16, 'tp: 2, ep: 0', 'name: moe-ep8'),
    'one of several degrees differs': job(16, 'tp: 2', 'name: llama_tp4_pp1-dp8'),
    'degrees one after another, with quotes and capitals': job(16, 'tp: 2, pp: 2', 'name: "70b TP2PP4, http2 tp"'),
    'no module has the degree':
      'layout: 1\nname: vlm-tp8\nworld_size: 8\nmodules:\n  images: {num_ranks: 4, tp: 2}\n  language: {rank_offset: 4, num_ranks: 4, tp: 4}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a degree of experts that cannot be used is not compared: error[not-positive] at "0": parallelism.ep is 0, but must be at least 1.
      = suggestion: Change ep to 1: parallelism: {tp: 2, ep: [-0-]{+1+}}
    one of several degrees differs: information at "tp4": The name says tp4, but tp is 2. Change the name or the degree.
      = suggestion: Write tp2 in the name: name: llama_tp[-4-]{+2+}_pp1-dp8
    degrees one after another, with quotes and capitals: information at "PP4": The name says pp4, but pp is 2. Change the name or the degree.
      = suggestion: Write pp2 in the name: name: "70b TP2PP[-4-]{+2+}, http2 tp"
    no module has the degree: information at "tp8": The name says tp8, but tp is 2 or 4. Change the name or the degree.
      = suggestion: Write tp2 in the name: name: vlm-tp[-8-]{+2+}
      = suggestion: Write tp4 in the name: name: vlm-tp[-8-]{+4+}"
  `);
});
