import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { CHECKPOINT_FORMATS } from '../layout';
import { EXPORT_TARGETS } from '../layout/launch';
import { version } from '../package.json';
import { BoundedLines, tooLongAnswer } from './boundedLines';
import { EXIT } from './output';
import { TOOL_OUTPUTS } from './outputSchemas';

/** The time limit of a tool in milliseconds, and the limits of its input and output in characters. */
const TIME_LIMIT_MS = 30_000;
const INPUT_LIMIT = 4_000_000;
const OUTPUT_LIMIT = 1_000_000;

/** The bytes of output after which a command is killed: more than `OUTPUT_LIMIT` characters have. */
const MOST_BYTES = 4 * OUTPUT_LIMIT;

/** The most tools that run at the same time, and that wait. */
const MAX_RUNNING = 4;
const MAX_WAITING = 64;

const text = (description: string) => z.string().max(INPUT_LIMIT).describe(description);
const name = (description: string, form = /^/) => z.string().max(1000).regex(form).optional().describe(description);
const count = (description: string, most: number) => z.number().int().min(1).max(most).optional().describe(description);
const flag = (description: string) => z.boolean().optional().describe(description);

const layout = text('The whole text of a layout file (*.layout.yaml).');
const checkpoint = z
  .enum(CHECKPOINT_FORMATS)
  .optional()
  .describe('The format of the checkpoint; left out, the one that the layout names.');

/** An option of a command; none without a value, or where a switch is off. */
const option = (name: string, value: string | number | boolean | readonly (string | number)[] | undefined): string[] =>
  value === undefined || value === false
    ? []
    : [value === true ? `--${name}` : `--${name}=${[value].flat().join(',')}`];

/** What a tool runs: a command of this program, and what stands on its standard input or in files of a private folder. */
interface Call {
  readonly args: readonly string[];
  readonly input?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** The JSON that the command prints as the structured answer; what is not JSON is given as it is. */
  readonly read?: (output: unknown) => unknown;
}

/** A tool: its description, the schemas of what it takes and gives, and what it runs. */
interface Tool<I extends z.ZodObject = z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly input: I;
  readonly output?: z.ZodObject;
  readonly call: (input: z.infer<I>) => Call;
}

const tool = <I extends z.ZodObject>(one: Tool<I>): Tool<I> => one;

/** The only element of what a command prints for several files. */
const only = (output: unknown): unknown => (Array.isArray(output) ? output[0] : output);

const TOOLS = {
  check: tool({
    title: 'Check a layout',
    description:
      'Diagnostics of a parallelism layout: code, severity, place, message, the error that Megatron-LM would raise, and fixes.',
    input: z.strictObject({ layout }),
    output: TOOL_OUTPUTS.check,
    call: (input) => ({ args: ['check', '--format=json', '-'], input: input.layout, read: only }),
  }),
  groups: tool({
    title: 'Process groups of a layout',
    description:
      'Which global ranks form each process group, in creation order. Ask for one group or rank where you can.',
    input: z.strictObject({
      layout,
      group: name('Only groups of this name, such as tp or dp_cp.'),
      rank: z.number().int().min(0).optional().describe('Only groups that hold this global rank.'),
    }),
    output: TOOL_OUTPUTS.groups,
    call: ({ group, rank, layout: input }) => ({
      args: ['groups', '--format=jsonl', ...option('group', group), ...option('rank', rank), '-'],
      input,
    }),
  }),
  stages: tool({
    title: 'Pipeline stages of a layout',
    description: 'The layers that each pipeline stage holds, module by module.',
    input: z.strictObject({ layout }),
    output: TOOL_OUTPUTS.stages,
    call: (input) => ({ args: ['stages', '--format=jsonl', '-'], input: input.layout }),
  }),
  compare: tool({
    title: 'Compare two layouts',
    description:
      'How two layouts differ, rank by rank and group by group, and what of a checkpoint of the first the second can load.',
    input: z.strictObject({
      before: layout,
      after: layout,
      with_checkpoint: flag('Also say what of a checkpoint loads.'),
      checkpoint,
    }),
    output: TOOL_OUTPUTS.compare,
    call: ({ before, after, with_checkpoint, checkpoint: format }) => ({
      args: ['compare', '--format=json', 'before', 'after', ...option('checkpoint', format ?? with_checkpoint)],
      files: { before, after },
    }),
  }),
  estimate: tool({
    title: 'Estimate the cost of a layout',
    description: 'Memory of each pipeline stage, traffic of each process group, bubble and step time, with intervals.',
    input: z.strictObject({ layout }),
    output: TOOL_OUTPUTS.estimate,
    call: (input) => ({ args: ['estimate', '--format=jsonl', '-'], input: input.layout }),
  }),
  plan: tool({
    title: 'Layouts that fit',
    description: 'The layouts of the same model and batch that fit the GPUs, the fastest first; each with its file.',
    input: z.strictObject({
      layout,
      top: count('How many; 10 if left out.', 50),
      gpus: z
        .array(z.number().int().min(1).max(1_000_000))
        .max(20)
        .optional()
        .describe("Numbers of GPUs in place of the layout's."),
      gpu: z
        .array(z.string().max(100))
        .max(20)
        .optional()
        .describe("Kinds of GPU in place of the layout's, such as H100-80GB."),
      // the command also takes the path of a config.json, and this server reads no file
      model: name("A public model in place of the layout's, such as Qwen/Qwen3-32B.", /^(?!.*\.json$)/i),
      risk: flag('Also layouts that may need more memory than there is.'),
    }),
    output: TOOL_OUTPUTS.plan,
    call: ({ layout: input, ...options }) => ({
      args: ['plan', '--format=json', ...Object.entries(options).flatMap(([key, value]) => option(key, value)), '-'],
      input,
      read: (layouts) => ({ layouts }),
    }),
  }),
  resize: tool({
    title: 'A job on fewer or more GPUs',
    description:
      'The layouts of a job on fewer or more GPUs, and what each keeps of its checkpoint. Name one of world, without_nodes and add_nodes.',
    input: z.strictObject({
      layout,
      world: count('How many GPUs there are now.', 1_000_000),
      without_nodes: z
        .array(z.number().int().min(0))
        .max(10_000)
        .optional()
        .describe('The nodes that are gone, counted from 0.'),
      add_nodes: count('How many nodes are added.', 100_000),
      checkpoint,
      top: count('How many layouts; 5 if left out.', 100),
      risk: flag('Also layouts that may need more memory than there is.'),
    }),
    output: TOOL_OUTPUTS.resize,
    call: ({ layout: input, ...options }) => ({
      args: [
        ...['resize', '--format=json'],
        ...Object.entries(options).flatMap(([key, value]) => option(key.replace('_', '-'), value)),
        '-',
      ],
      input,
    }),
  }),
  verify: tool({
    title: 'Compare a run with its layout',
    description:
      'Compares what a run left (logs, Flight Recorder dumps as JSON, NCCL RAS answers) with its layout, and names the ranks that block it.',
    input: z.strictObject({
      layout,
      files: z
        .array(
          z.strictObject({
            name: z
              .string()
              .regex(/^\w[\w.-]{0,99}$/)
              .describe('Such as rank_3.json or slurm-42.out.'),
            text: text('The whole file.'),
          }),
        )
        .min(1)
        .max(1000),
    }),
    output: TOOL_OUTPUTS.verify,
    call: ({ layout: layoutText, files }) => ({
      args: ['verify', '--format=json', 'layout', ...files.map((file) => file.name)],
      files: { ...Object.fromEntries(files.map((file) => [file.name, file.text])), layout: layoutText },
    }),
  }),
  explain: tool({
    title: 'Explain a rule, key or process group',
    description:
      'What a rule, a key of the format, a flag of Megatron-LM or a process group means, in Markdown; without a code, the list of all rules.',
    input: z.strictObject({ code: name('A code that check printed, such as dense-product; or a key, flag or group.') }),
    output: TOOL_OUTPUTS.explain,
    call: ({ code }) => ({
      args: ['explain', '--format=json', ...(code === undefined ? [] : ['--', code])],
      read: (pages) => ({ pages }),
    }),
  }),
  import: tool({
    title: 'Import a launch file',
    description:
      'Reads a launch script, recipe, configuration or log of a training framework as a layout; every value says where it comes from.',
    input: z.strictObject({
      text: text('The whole text of the launch file.'),
      family: name('The family, such as megatron or verl; detected where left out.'),
    }),
    output: TOOL_OUTPUTS.import,
    call: ({ family, text: input }) => ({ args: ['import', '--format=json', ...option('family', family), '-'], input }),
  }),
  export: tool({
    title: 'Export a layout',
    description:
      'Writes a layout for a framework or a launcher; notes say what was chosen and what the form cannot hold.',
    input: z.strictObject({
      layout,
      to: z.enum([...EXPORT_TARGETS, 'mermaid', 'svg']).describe('What is written.'),
      record: flag('Switch on what verify reads of a run, where launch lines are written.'),
      allow_errors: flag('Write a layout that has errors too.'),
    }),
    output: z.object({ text: z.string(), notes: z.array(z.string()) }),
    call: ({ layout: input, to, record, allow_errors }) => ({
      args: ['export', `--to=${to}`, ...option('record', record), ...option('allow-errors', allow_errors), '-'],
      input,
    }),
  }),
  drift: tool({
    title: 'Compare a layout with a launch file',
    description:
      'Where a layout and the launch script, recipe or configuration of the job differ, key by key, with the lines of both.',
    input: z.strictObject({ layout, launch: text('The whole text of the launch file.') }),
    output: TOOL_OUTPUTS.drift,
    call: (texts) => ({ args: ['drift-texts'], input: JSON.stringify(texts), read: only }),
  }),
} as const;

/**
 * Serves the Model Context Protocol on standard input and output. Every tool is a command of this program on texts that the
 * client sends, in a process of bounded time and output; longer messages are answered with an error. No file is read that a text
 * names, and no configuration of the current directory; several texts stand in a private folder for the time of one answer.
 */
export async function serveMcp(): Promise<void> {
  const server = new McpServer({ name: 'parallelism-layout', version });
  const annotations = { readOnlyHint: true, openWorldHint: false };
  for (const [id, { title, description, input, output, call }] of Object.entries(TOOLS) as [string, Tool][]) {
    server.registerTool(
      id,
      { annotations, title, description, inputSchema: input, ...(output && { outputSchema: output }) },
      (given: Record<string, unknown>) => answer(call(given)),
    );
  }
  const lines = new BoundedLines((start, end) => {
    process.stdout.write(tooLongAnswer(start, end));
  });
  await server.connect(new StdioServerTransport(process.stdin.pipe(lines)));
}

/** The result of a tool. */
interface Answer {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
  readonly [key: string]: unknown;
}

let running = 0;
const waiting: (() => void)[] = [];

/** Runs a command of this program; the answer is its output, and its messages. */
async function answer(call: Call): Promise<Answer> {
  if (running >= MAX_RUNNING) {
    if (waiting.length >= MAX_WAITING) {
      return failure(`more than ${MAX_WAITING} requests wait: ask again when some are answered`);
    }
    await new Promise<void>((start) => waiting.push(start));
  } else {
    running++;
  }
  try {
    return await inFolder(call);
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

/** Runs a call in a folder that holds its files alone; without files in the root directory, where relative names lead nowhere. */
async function inFolder(call: Call): Promise<Answer> {
  if (!call.files) {
    return run(call, parse(process.argv[1] ?? '').root);
  }
  const folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-mcp-'));
  try {
    // no configuration above it counts
    mkdirSync(join(folder, '.git'));
    for (const [file, content] of Object.entries(call.files)) {
      writeFileSync(join(folder, file), content);
    }
    return await run(call, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run({ args, input = '', read = (output) => output }: Call, cwd: string): Promise<Answer> {
  const limits = { timeout: TIME_LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: MOST_BYTES } as const;
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [process.argv[1] ?? '', ...args],
      { cwd, ...limits },
      (error, out, said) => {
        const isCut = [out, said].some(({ length }) => length > OUTPUT_LIMIT);
        if (typeof error?.code === 'string' && !isCut) {
          done(failure(error.message));
          return;
        }
        const isStopped = !isCut && typeof error?.signal === 'string';
        const errors = `${cut(said)}${isStopped ? `stopped after ${TIME_LIMIT_MS / 1000} seconds\n` : ''}`;
        // standard error has the reason of an empty answer
        const texts = [cut(out), errors].filter((text) => text !== '' && text !== '[]\n');
        const content = texts.map((text) => ({ type: 'text' as const, text }));
        const isUnfinished = isCut || isStopped || error?.code === EXIT.internal;
        const structuredContent = isUnfinished ? null : structured(args, out, said, read);
        done(structuredContent ? { content, structuredContent } : { content, isError: true });
      },
    );
    // a command that refuses its arguments does not read its input
    child.stdin?.on('error', () => {}).end(input);
  });
}

/** A text of bounded length that says where it was cut. */
const cut = (text: string): string =>
  text.length > OUTPUT_LIMIT
    ? `${text.slice(0, OUTPUT_LIMIT)}\n... cut after ${OUTPUT_LIMIT} characters: ask for one group or rank\n`
    : text;

/** The structured answer in what a command printed; null where it says that it failed. */
function structured(
  [command]: readonly string[],
  out: string,
  errors: string,
  read: (output: unknown) => unknown,
): Record<string, unknown> | null {
  if (out === '') {
    return null;
  }
  if (command === 'export') {
    const notes = errors.split('\n').map((line) => line.replace(/^parallelism-layout: (-: )?/, ''));
    return { text: out, notes: notes.filter((line) => line !== '') };
  }
  const given = read(JSON.parse(out));
  const isObject = typeof given === 'object' && given !== null;
  const lists = isObject ? ['layouts', 'pages'].map((key) => (given as Record<string, unknown>)[key]) : [];
  const isEmpty = lists.some((list) => Array.isArray(list) && list.length === 0);
  return !isObject || isEmpty || 'error' in given || ('family' in given && given.family === null)
    ? null
    : (given as Record<string, unknown>);
}
