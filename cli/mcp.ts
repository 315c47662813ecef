import { type ChildProcess, spawn } from 'node:child_process';
import { parse } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { version } from '../package.json';
import { BoundedLines, tooLongAnswer } from './boundedLines';
import { EXIT } from './output';

/** The time limit of a tool in milliseconds, and the limits of its input and output in characters. */
const TIME_LIMIT_MS = 30_000;
const INPUT_LIMIT = 4_000_000;
const OUTPUT_LIMIT = 1_000_000;

/** The most tools that run at the same time, and that wait. */
const MAX_RUNNING = 4;
const MAX_WAITING = 64;

const text = (description: string) => z.string().max(INPUT_LIMIT).describe(description);
const name = (description: string) => z.string().max(1000).optional().describe(description);

const layout = text('The whole text of a layout file (*.layout.yaml).');

/** An option of a command; none without a value. */
const option = (flag: string, value: string | number | undefined) =>
  value === undefined ? [] : [`--${flag}=${value}`];

/**
 * Serves the Model Context Protocol on standard input and output. Every tool is a command of this program on a text that the
 * client sends, in a process of bounded time and output; longer messages are answered with an error. Nothing is written, and no file
 * is read, neither one that a text names nor a configuration of the current directory.
 */
export async function serveMcp(): Promise<void> {
  const server = new McpServer({ name: 'parallelism-layout', version });
  const annotations = { readOnlyHint: true, openWorldHint: false };
  server.registerTool(
    'check',
    {
      annotations,
      title: 'Check a layout',
      description:
        'Diagnostics of a parallelism layout: code, severity, place, message, the error that Megatron-LM would raise, and fixes. JSON.',
      inputSchema: { layout },
    },
    (input) => answer(['check', '--format', 'json', '-'], input.layout),
  );
  server.registerTool(
    'groups',
    {
      annotations,
      title: 'Process groups of a layout',
      description:
        'Which global ranks form each process group, in creation order. JSON. Ask for one group or rank where you can.',
      inputSchema: {
        layout,
        group: name('Only groups of this name, such as tp or dp_cp.'),
        rank: z.number().int().min(0).optional().describe('Only groups that hold this global rank.'),
      },
    },
    ({ group, rank, ...input }) =>
      answer(['groups', '--format=jsonl', ...option('group', group), ...option('rank', rank), '-'], input.layout),
  );
  server.registerTool(
    'estimate',
    {
      annotations,
      title: 'Estimate the cost of a layout',
      description:
        'Memory of each pipeline stage, traffic of each process group, bubble and step time, with intervals. JSON.',
      inputSchema: { layout },
    },
    (input) => answer(['estimate', '--format', 'jsonl', '-'], input.layout),
  );
  server.registerTool(
    'plan',
    {
      annotations,
      title: 'Layouts that fit',
      description:
        'The layouts of the same model, world and batch that fit the GPUs, the fastest first; each with its file. JSON lines.',
      inputSchema: { layout, top: z.number().int().min(1).max(50).optional().describe('How many; 10 if left out.') },
    },
    ({ top, ...input }) => answer(['plan', '--format', 'jsonl', ...option('top', top), '-'], input.layout),
  );
  server.registerTool(
    'explain',
    {
      annotations,
      title: 'Explain a rule, key or process group',
      description:
        'What a rule, a key of the format, a flag of Megatron-LM or a process group means, in Markdown; without a code, the list of all rules.',
      inputSchema: { code: name('A code that check printed, such as dense-product; or a key, flag or group.') },
    },
    ({ code }) => answer(['explain', ...(code === undefined ? [] : ['--', code])], ''),
  );
  server.registerTool(
    'import',
    {
      annotations,
      title: 'Import a launch file',
      description:
        'Reads a launch script, recipe, configuration or log of a training framework as a layout; every value says where it comes from. JSON.',
      inputSchema: {
        text: text('The whole text of the launch file.'),
        family: name('The family, such as megatron or verl; detected where left out.'),
      },
    },
    ({ family, ...input }) => answer(['import', '--format', 'json', ...option('family', family), '-'], input.text),
  );
  server.registerTool(
    'drift',
    {
      annotations,
      title: 'Compare a layout with a launch file',
      description:
        'Where a layout and the launch script, recipe or configuration of the job differ, key by key, with the lines of both. JSON.',
      inputSchema: { layout, launch: text('The whole text of the launch file.') },
    },
    (texts) => answer(['drift-texts'], JSON.stringify(texts)),
  );
  const lines = new BoundedLines((start, end) => {
    process.stdout.write(tooLongAnswer(start, end));
  });
  await server.connect(new StdioServerTransport(process.stdin.pipe(lines)));
}

/** The result of a tool. */
interface Answer {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly isError?: boolean;
  readonly [key: string]: unknown;
}

let running = 0;
const waiting: (() => void)[] = [];

/** Runs a command of this program on a text; the answer is its output, and its messages. */
async function answer(args: readonly string[], input: string): Promise<Answer> {
  if (running >= MAX_RUNNING) {
    if (waiting.length >= MAX_WAITING) {
      return failure(`more than ${MAX_WAITING} requests wait: ask again when some are answered`);
    }
    await new Promise<void>((start) => waiting.push(start));
  } else {
    running++;
  }
  try {
    return await run(args, input);
  } finally {
    const next = waiting.shift();
    if (next) {
      next();
    } else {
      running--;
    }
  }
}

function failure(text: string): Answer {
  return { content: [{ type: 'text', text }], isError: true };
}

function run(args: readonly string[], input: string): Promise<Answer> {
  return new Promise((done) => {
    const script = process.argv[1] ?? '';
    const child = spawn(process.execPath, [script, ...args], {
      // in the root directory, relative names in a text lead nowhere, and there is no configuration
      cwd: parse(script).root,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: TIME_LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    const out = new Bounded(child);
    const errors = new Bounded(child);
    child.stdout.setEncoding('utf8').on('data', (text: string) => out.add(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => errors.add(text));
    // a command that refuses its arguments does not read its input
    child.stdin.on('error', () => {}).end(input);
    child.once('error', (error) => done(failure(error.message)));
    child.once('close', (status, signal) => {
      const isCut = out.isFull || errors.isFull;
      const ended = signal === null || isCut ? '' : `stopped after ${TIME_LIMIT_MS / 1000} seconds\n`;
      // standard error has the reason of an empty answer
      const texts = [out.text, `${errors.text}${ended}`].filter((text) => text !== '');
      const isError = out.text === '' || ended !== '' || status === EXIT.internal;
      done({ content: texts.map((text) => ({ type: 'text', text })), ...(isError && { isError }) });
    });
  });
}

/** A text of bounded length that says where it was cut; its writer is then killed. */
class Bounded {
  #text = '';

  constructor(readonly writer: ChildProcess) {}

  get isFull(): boolean {
    return this.#text.length > OUTPUT_LIMIT;
  }

  add(more: string): void {
    if (!this.isFull) {
      this.#text += more;
    }
    if (this.isFull) {
      this.writer.kill('SIGKILL');
    }
  }

  get text(): string {
    return this.isFull
      ? `${this.#text.slice(0, OUTPUT_LIMIT)}\n... cut after ${OUTPUT_LIMIT} characters: ask for one group or rank\n`
      : this.#text;
  }
}
