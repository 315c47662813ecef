import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { wrongType } from './wrong-type';

test('wrong-type', () => {
  const said = reports(wrongType, {
    'a number in quotes': job(8, 'tp: "2"'),
    'a number with a fraction of 0': job(8, 'tp: 2.0'),
    'a word for a number': job(8, 'tp: two'),
    'a key without its colon': job(8, 'tp 2').replace('{', '\n  ').replace('}', ''),
    'a key with an equals sign': 'layout: 1\nworld_size: 8\nparallelism: tp=2\n',
    'flags in place of keys': '--tensor-model-parallel-size 8\n',
    'yes for true': job(8, 'tp: 2', 'fsdp: {enabled: yes}'),
    'a number for a name': job(8, 'tp: 2', 'name: 8'),
    'a number for a map': 'layout: 1\nworld_size: 8\nparallelism: 2\n',
    'a map for a number': 'layout: 1\nworld_size: {a: 1}\nparallelism: {tp: 2}\n',
    'a comma behind a number': 'layout: 1\nworld_size: 8,\nparallelism: {tp: 2}\n',
    'a duration without a unit': job(8, 'tp: 2', 'smoke: {timeout: 60}'),
    'a list of keys': 'layout: 1\nworld_size: 8\nparallelism:\n  - tp: 2\n  - pp: 2\n',
    'no value in the words of Python': job(8, 'tp: 2, pp: None'),
    'no value for a key that must be there': 'layout: null\nworld_size: 8\nparallelism: {tp: 2}\n',
    'no value': 'layout: 1\nworld_size:\nparallelism: {tp: 2}\n',
    'a size without a unit that is known': job(8, 'tp: 2', 'smoke: {timeout: soon}'),
    'a file that is no map': '- layout\n',
    'a share above 1': job(8, 'tp: 2', 'model: {hidden_dropout: 10}'),
    'keys that stand beside the map that they belong into':
      'layout: 1\nworld_size: 8\nparallelism:\ntp: 2\npp: 2\nbatch: {micro_batch_size: 1}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a number in quotes: error at "\\"2\\"": parallelism.tp must be a whole number, not the text "2".
      = safe fix: Change to 2: parallelism: {tp: [-"2"-]{+2+}}
    a number with a fraction of 0: error at "2.0": parallelism.tp must be a whole number, not 2.0.
      = safe fix: Change to 2: parallelism: {tp: [-2.0-]{+2+}}
    a word for a number: error at "two": parallelism.tp must be a whole number, not 'two'.
    a key without its colon: error at "tp 2": parallelism must be a map of keys, not 'tp 2'.
      = safe fix: Write tp: 2: [-tp 2-]{+tp: 2+}
    a key with an equals sign: error at "tp=2": parallelism must be a map of keys, not 'tp=2'.
      = safe fix: Write tp: 2: parallelism: [-tp=2-]{+{tp: 2}+}
    flags in place of keys: error at "--tensor-model-parallel-size 8": These are flags; a layout is a map of keys such as 'layout: 1'. Save them as a script: 'parallelism-layout import' makes a layout of it.
    yes for true: error at "yes": fsdp.enabled must be true or false, not 'yes'.
      = safe fix: Change to true: fsdp: {enabled: [-yes-]{+true+}}
    a number for a name: error at "8": name must be a text, not 8.
      = safe fix: Change to "8": name: [-8-]{+"8"+}
    a number for a map: error at "2": parallelism must be a map of keys, not 2.
    a map for a number: error at "{a: 1}": world_size must be a whole number, not a map.
    a comma behind a number: error at "8,": world_size must be a whole number, not '8,'.
      = safe fix: Change to 8: world_size: [-8,-]{+8+}
    a duration without a unit: error at "60": smoke.timeout must be a duration with a unit, such as 60s, not 60.
      = suggestion: Change to 60s: smoke: {timeout: [-60-]{+60s+}}
    a list of keys: error at "- tp: 2\\n  - pp: 2": parallelism must be a map of keys, not a list.
      = safe fix: Write the items as keys: [-  - -]{+    +}tp: 2 | [-  - -]{+    +}pp: 2
    no value in the words of Python: error at "None": parallelism.pp must be a whole number, not 'None'.
      = suggestion: Remove pp: parallelism: {tp: 2[-, pp: None-]}
    no value for a key that must be there: error at "null": layout has no value; it must be a whole number.
    no value: error at "": world_size has no value; it must be a whole number.
    a size without a unit that is known: error at "soon": smoke.timeout must be a duration with a unit, such as 60s, not 'soon'.
    a file that is no map: error at "- layout": A layout is a map of keys such as 'layout: 1', not a list.
    a share above 1: error at "10": model.hidden_dropout must be a number from 0 to 1, not 10.
    keys that stand beside the map that they belong into: error at "": parallelism has no value; it must be a map of keys.
      = safe fix: Indent 'tp' and 'pp' under parallelism: {+  +}tp: 2 | {+  +}pp: 2
      error[unknown-key] at "tp": tp belongs under parallelism.
      = suggestion: Remove tp: [-tp: 2⏎-]pp: 2
      error[unknown-key] at "pp": pp belongs under parallelism.
      = suggestion: Remove pp: [-pp: 2⏎-]batch: {micro_batch_size: 1}"
  `);
});
