import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { wrongType } from './wrong-type';

const said = (text: string) => report(wrongType, text);

test('a number in quotes', () => {
  expect(said(job(8, 'tp: "2"'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "\\"2\\""
    \`parallelism.tp\` must be a whole number, not the text "2".
    = safe fix: Change to 2
      - parallelism: {tp: "2"}
      + parallelism: {tp: 2}"
  `);
});

test('a number with a fraction of 0', () => {
  expect(said(job(8, 'tp: 2.0'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "2.0"
    \`parallelism.tp\` must be a whole number, not \`2.0\`.
    = safe fix: Change to 2
      - parallelism: {tp: 2.0}
      + parallelism: {tp: 2}"
  `);
});

test('a word for a number', () => {
  expect(said(job(8, 'tp: two'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "two"
    \`parallelism.tp\` must be a whole number, not \`two\`."
  `);
});

test('yes for true', () => {
  expect(said(job(8, 'tp: 2', 'fsdp: {enabled: yes}'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "yes"
    \`fsdp.enabled\` must be true or false, not \`yes\`.
    = safe fix: Change to true
      - fsdp: {enabled: yes}
      + fsdp: {enabled: true}"
  `);
});

test('a number for a name', () => {
  expect(said(job(8, 'tp: 2', 'name: 8'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "8"
    \`name\` must be a text, not \`8\`.
    = safe fix: Change to "8"
      - name: 8
      + name: "8""
  `);
});

test('a number for a map', () => {
  expect(said('layout: 1\nworld_size: 8\nparallelism: 2\n')).toMatchInlineSnapshot(`
    "error[wrong-type] at "2"
    \`parallelism\` must be a map of keys, not \`2\`."
  `);
});

test('a map for a number', () => {
  expect(said('layout: 1\nworld_size: {a: 1}\nparallelism: {tp: 2}\n')).toMatchInlineSnapshot(`
    "error[wrong-type] at "{a: 1}"
    \`world_size\` must be a whole number, not a map."
  `);
});

test('no value', () => {
  expect(said('layout: 1\nworld_size:\nparallelism: {tp: 2}\n')).toMatchInlineSnapshot(`
    "error[wrong-type] at ""
    \`world_size\` has no value; it must be a whole number."
  `);
});

test('a size without a unit that is known', () => {
  expect(said(job(8, 'tp: 2', 'smoke: {timeout: soon}'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "soon"
    \`smoke.timeout\` must be a duration with a unit, such as 60s, not \`soon\`."
  `);
});

test('a file that is no map', () => {
  expect(said('- layout\n')).toMatchInlineSnapshot(`
    "error[wrong-type] at "- layout"
    A layout is a map of keys such as \`layout: 1\`, not a list."
  `);
});

test('a share above 1', () => {
  expect(said(job(8, 'tp: 2', 'model: {hidden_dropout: 10}'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "10"
    \`model.hidden_dropout\` must be a number from 0 to 1, not \`10\`."
  `);
});

test('keys that stand beside the map that they belong into', () => {
  expect(
    said('layout: 1\nworld_size: 8\nparallelism:\ntp: 2\npp: 2\nbatch: {micro_batch_size: 1}\n'),
  ).toMatchInlineSnapshot(`
    "error[wrong-type] at ""
    \`parallelism\` has no value; it must be a map of keys.
    = safe fix: Indent \`tp\` and \`pp\` under \`parallelism\`
      - tp: 2
      - pp: 2
      +   tp: 2
      +   pp: 2
    error[unknown-key] at "tp"
    \`tp\` belongs under \`parallelism\`.
    = suggestion: Remove \`tp\`
      - tp: 2
    error[unknown-key] at "pp"
    \`pp\` belongs under \`parallelism\`.
    = suggestion: Remove \`pp\`
      - pp: 2"
  `);
});
