import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { check, ruleOf } from '../../layout';
import { cli } from '../harness/commandLine';
import { type Block, blocksOf, commandsOf, PageFolder } from '../harness/pages';

/** Every page that is written by hand; a page of a rule has its own test. */
const PAGES = ['README.md', ...readdirSync('docs').flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))];

/** The job of the tutorial with its kind of GPU, which other pages use under the same names. */
const tutorial = blocksOf('docs/tutorial.md');
const job: Record<string, string> = {};

const unpacked = mkdtempSync(join(tmpdir(), 'parallelism-layout-unpacked-'));
const program = join(unpacked, 'package');
beforeAll(async () => {
  execFileSync('tar', ['-xzf', 'parallelism-layout.tgz', '-C', unpacked]);
  const folder = new PageFolder(tutorial, {}, program);
  try {
    await folder.run('parallelism-layout import train.sh > train.layout.yaml');
    for (const name of ['train.sh', 'train.layout.yaml']) {
      job[name] = readFileSync(join(folder.path, name), 'utf8').replace(
        /^( *)gpus_per_node: 8.*/m,
        '$&\n$1gpu: H100-80GB',
      );
    }
  } finally {
    folder.remove();
  }
});
afterAll(() => rmSync(unpacked, { recursive: true }));

/** A page with what its commands print now in place of the output that it shows; the commands that end otherwise, and what is drawn. */
async function rerun(page: string, blocks: readonly Block[]) {
  const text = readFileSync(page, 'utf8');
  const folder = new PageFolder(blocks, job, program);
  const parts: string[] = [];
  const ends: { readonly line: number; readonly status: number; readonly said: string }[] = [];
  let at = 0;
  try {
    for (const { line, text: commands, status, notRun, output } of commandsOf(blocks)) {
      if (notRun !== null) {
        continue;
      }
      const done = await folder.run(commands);
      if (done.status !== status) {
        ends.push({ line, status: done.status, said: done.output });
      }
      if (output) {
        parts.push(text.slice(at, output.start), `${done.output}\n`);
        at = output.start + output.text.length;
      }
    }
    const pictures = join(folder.path, 'pictures');
    const drawn = existsSync(pictures)
      ? readdirSync(pictures).map((name) => ({ name, svg: readFileSync(join(pictures, name), 'utf8') }))
      : [];
    return { text: parts.join('') + text.slice(at), ends, drawn };
  } finally {
    folder.remove();
  }
}

describe.each(PAGES)('%s', (page) => {
  const blocks = blocksOf(page);

  test('every layout that is a file has no errors', () => {
    const layouts = blocks.filter(({ language, file }) => language === 'yaml' && file?.endsWith('.layout.yaml'));
    const errors = layouts.flatMap(({ file, text }) =>
      check(text)
        .diagnostics.filter(({ severity }) => severity === 'error')
        .map(({ code }) => `${file}: ${code}`),
    );
    expect(errors).toEqual([]);
  });

  // `vitest run test/cli/pages.test.ts --update` writes what the commands print into the pages
  test('every command runs from the packed archive, and prints what the page shows', async () => {
    const { text, ends, drawn } = await rerun(page, blocks);
    expect(ends).toEqual([]);
    await expect(text).toMatchFileSnapshot(resolve(page));
    for (const { name, svg } of drawn) {
      await expect(svg).toMatchFileSnapshot(resolve('docs/pictures', name));
    }
  });

  test('the files that it shows are those that open', () => {
    const shown = blocks.filter(({ language, info }) => language === 'yaml' && info !== '');
    expect(shown.map(({ text }) => text)).toEqual(shown.map(({ info }) => readFileSync(info, 'utf8')));
  });

  test('its links lead somewhere', () => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(dirname(page), link)))).toEqual([]);
  });
});

test('the commands that are not run say why', () => {
  const all = PAGES.flatMap((page) =>
    commandsOf(blocksOf(page)).flatMap(({ notRun }) => (notRun === null ? [] : `${page}: ${notRun}`)),
  );
  expect(all).toMatchInlineSnapshot(`
    [
      "README.md: builds the program from a clone and opens an editor",
      "README.md: runs the tests that this test is one of",
      "docs/clusters.md: needs a Slurm cluster",
      "docs/clusters.md: needs a Slurm cluster",
      "docs/editors.md: waits for an editor",
      "docs/editors.md: needs jq",
    ]
  `);
});

test('the commands in a line of text exist, with their options', async () => {
  const help = (await cli('.', '--help')).stdout;
  const commands = [...help.matchAll(/^ {2}([a-z]+) {2,}/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help');
  expect(commands.length).toBeGreaterThan(15);
  const helps = new Map<string, string>();
  for (const command of commands) {
    helps.set(command, (await cli('.', command, '--help')).stdout);
  }
  const spans = PAGES.flatMap((page) => {
    const text = readFileSync(page, 'utf8').replace(/^```.*?^```$/gms, '');
    return [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => ({ page, words: span.split(/\s+/) }));
  });
  const wrong = spans.flatMap(({ page, words }) => {
    const [command = '', ...rest] = words[0] === 'parallelism-layout' ? words.slice(1) : words;
    const known = helps.get(command);
    const options = rest.map((word) => word.split('=')[0] ?? '').filter((word) => /^--?[a-z]/.test(word));
    const isCommand = words[0] === 'parallelism-layout' && /^[a-z]/.test(command);
    // the flag that `explain` explains is the framework's
    const unknown =
      command === 'explain' ? [] : options.filter((word) => !new RegExp(`[ ,]${word}\\b`).test(known ?? ''));
    return known === undefined
      ? isCommand
        ? [`${page}: ${words.join(' ')}`]
        : []
      : unknown.map((word) => `${page}: ${words.join(' ')}: ${word}`);
  });
  expect(wrong).toEqual([]);
});

test('README quotes what the wrong number of its tour gives', () => {
  const text = readFileSync('README.md', 'utf8').replaceAll(/\s+/g, ' ');
  const layout = readFileSync('examples/mimo-8gpu.layout.yaml', 'utf8').replace('pp: 2', 'pp: 3');
  const [first] = check(layout).diagnostics;
  expect(text).toContain(`*${first?.message}*`);
});

test('every rule that troubleshooting names exists', () => {
  const codes = [...readFileSync('docs/troubleshooting.md', 'utf8').matchAll(/\(rules\/([\w-]+)\.md\)/g)];
  expect(codes.length).toBeGreaterThan(0);
  expect(codes.map(([, code = '']) => code).filter((code) => !ruleOf(code))).toEqual([]);
});

test('the MoE example fits the GPUs that it names', () => {
  const text = readFileSync('examples/moe-64gpu.layout.yaml', 'utf8');
  expect(text).toContain('gpu: H100-80GB');
  expect(check(text).diagnostics).toEqual([]);
  // the same model on GPUs of another kind shows that its memory is known
  const small = check(text.replace('gpu: H100-80GB', 'gpu_memory: 24GB'));
  expect([...new Set(small.diagnostics.map(({ code }) => code))]).toEqual(['memory-over']);
});
