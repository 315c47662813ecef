import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { check, ruleOf } from '../../layout';
import { blocksOf, commandsOf, PageFolder } from '../harness/pages';

/** The pages that show commands and layouts; the tutorial has a test of its own. */
const PAGES = ['concepts', 'cookbook', 'faq', 'troubleshooting'].map((name) => `docs/${name}.md`);

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

  test('every command runs, and prints what the page shows', async () => {
    const folder = new PageFolder(blocks);
    try {
      for (const { line, text, output } of commandsOf(blocks)) {
        const done = await folder.run(text);
        expect({ line, status: done.status, output: done.output }).toEqual({
          line,
          status: 0,
          output: output ?? done.output,
        });
      }
      const drawn = readdirSync(join(folder.path, 'pictures'));
      expect(drawn.filter((name) => !existsSync(`docs/pictures/${name}`))).toEqual([]);
    } finally {
      folder.remove();
    }
  });

  test('its links lead somewhere', () => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(dirname(page), link)))).toEqual([]);
  });
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
