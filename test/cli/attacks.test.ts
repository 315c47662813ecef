import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { FORMAT } from '../../layout/format/keys';
import type { KeySpec } from '../../layout/format/spec';
import { EXPORT_TARGETS } from '../../layout/launch';
import { cli, cliProcess } from '../harness/commandLine';

const CLI = resolve('dist/cli.js');

const folder = mkdtempSync(join(tmpdir(), 'cli-attacks-'));
afterAll(() => rmSync(folder, { recursive: true }));

const call = (...words: readonly string[]) => cli(folder, ...words);

/** What a terminal obeys, or what turns text around. */
const COMMANDS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\u{e0000}-\u{e0fff}]|[\ufe00-\ufe0f]/u;

/** A log of CI takes these for commands of its own. */
const CI_COMMANDS = /^\s*::|##\[|##vso\[/m;

const NAME = '\u001b]52;c;eA==\u0007\u001b]8;;https://x\u0007a\u009b31m\n::error::forged\n##[error]forged \u202e';

/** Windows has none of what these attacks use: control characters in names, named pipes, SIGPIPE. */
const onPosix = describe.skipIf(process.platform === 'win32');

onPosix('names from a file', () => {
  const module = JSON.stringify(NAME);
  const clean = `layout: 1\nname: ${module}\nworld_size: 4\nmodules:\n  language: {tp: 2, num_ranks: 2}\n  ${module}: {tp: 2, num_ranks: 2, rank_offset: 2}\nsequence: {seq_length: 64}\n`;
  const broken = clean.replace('rank_offset: 2', 'rank_offset: 1').replace('layout: 1', `layout: 1\n${module}: 1`);
  const files = ['clean.layout.yaml', `::error ::${NAME.replaceAll('/', '')}.layout.yaml`];
  writeFileSync(join(folder, 'clean.layout.yaml'), clean);
  writeFileSync(join(folder, 'broken.layout.yaml'), broken);
  writeFileSync(join(folder, files[1] ?? ''), broken);
  const flat = NAME.replaceAll('/', '').replaceAll('\n', '');
  const script = `x${NAME.replaceAll('/', '')}.sh`;
  writeFileSync(
    join(folder, script),
    `source ./${flat}.sh\ntorchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --hybrid-override-pattern '${NAME}' --pipeline-model-parallel-layout '${NAME}' --${flat} '${NAME}'\n`,
  );

  async function expectNoCommand(...words: readonly string[]): Promise<void> {
    const { status, stdout, stderr } = await call(...words);
    expect(stdout + stderr).not.toMatch(COMMANDS);
    expect(stdout + stderr).not.toMatch(words.includes('github') ? /##\[|##vso\[/ : CI_COMMANDS);
    expect([0, 1, 2]).toContain(status);
  }

  test.each(['text', 'json', 'jsonl', 'sarif', 'github', 'gitlab'])(
    'command nothing in `check --format %s`',
    (format) => expectNoCommand('check', '--format', format, '--', ...files),
  );

  test.each([
    ...['groups', 'sequence', 'ntp', 'stages', 'estimate', 'plan', 'draw', 'smoke --dry-run'],
    ...EXPORT_TARGETS.map((target) => `export --to ${target}`),
    ...['groups-json', 'mermaid', 'svg'].map((target) => `export --to ${target}`),
  ])('command nothing in `%s`', async (command) => {
    for (const file of files) {
      await expectNoCommand(...command.split(' '), '--', file);
    }
  });

  test.each([
    ...['text', 'json', 'sarif', 'github'].map((format) => ['drift', '--format', format, '--', 'clean.layout.yaml']),
    ...['text', 'json', 'sarif'].map((format) => ['verify', '--format', format, '--', 'clean.layout.yaml']),
    ...['yaml', 'json'].map((format) => ['import', '--format', format, '--']),
  ])('of launch files and in them command nothing in `%s %s %s`', (...words) => expectNoCommand(...words, script));

  test.each([[['explain']], [[]], [['groups', '--format']], [['groups', '--group']], [['smoke', '--cluster']]])(
    'as arguments command nothing: %j',
    async (words) => {
      await expectNoCommand(...words, NAME, 'clean.layout.yaml');
      await expectNoCommand(...words, `--${NAME}`, 'clean.layout.yaml');
    },
  );

  test('are one command each for GitHub', async () => {
    const { findings } = JSON.parse((await call('check', '--format', 'jsonl', 'broken.layout.yaml')).stdout);
    const lines = (await call('check', '--format', 'github', 'broken.layout.yaml')).stdout.trimEnd().split('\n');
    expect(lines.filter((line) => !/^::(error|warning|notice) file=broken/.test(line))).toEqual([]);
    expect(lines).toHaveLength(findings.length);
  });
});

onPosix('a layout that is exported', () => {
  const attack = '$(touch attacked)';
  const text = JSON.stringify(attack);
  const python = JSON.stringify("open('attacked', 'w')");
  const keys = (names: string, value = text) => names.split(' ').map((name) => `${name}: ${value}`);
  const one = [
    `{layout: 1, name: ${text}, world_size: 8`,
    `parallelism: {${keys('tp pp cp ep expt_tp order')}}`,
    `batch: {${keys('global_batch_size micro_batch_size')}}`,
    `sequence: {${keys('seq_length sequence_parallel')}}`,
    `optimizer: {${keys('use_distributed_optimizer')}}`,
    `phases: {rollout: {${keys('engine tp dp')}}, reference: {${keys('tp')}}}`,
    `ntp: {${keys('tp_base tp_spares num_reduced_tp_dp_ranks', python)}}`,
    `model: {${keys('num_layers pipeline_model_parallel_layout position_embedding_type params_dtype')}}}`,
  ].join(', ');
  const modules = (value: string) =>
    `{layout: 1, world_size: 8, modules: {language: {dp: 1, ${keys('ep rank_offset', value)}, model: {${keys('num_layers params_dtype num_query_groups')}}}, encoder: {tp: 1, dp: 1}}}`;

  const STUBS = 'MODULE=x CONFIG=x MASTER_ADDR=x; torchrun() { :; }; srun() { :; }; python3() { :; }';
  const PYTHON = 'ModuleGridSpec = NonuniformTPConfig = lambda **_: None';

  test.each(EXPORT_TARGETS)('runs nothing as %s, whatever its values are', async (target) => {
    const inPython = target === 'module-grid-spec' || target === 'ntp-config';
    for (const layout of [one, modules(inPython ? python : text)]) {
      writeFileSync(join(folder, 'exported.layout.yaml'), layout);
      const { stdout } = await call('export', '--allow-errors', '--to', target, 'exported.layout.yaml');
      const script = stdout.startsWith('--') ? `torchrun \\\n${stdout}` : stdout;
      if (inPython) {
        execFileSync('python3', ['-c', `${PYTHON}\n${script}`], { cwd: folder });
      } else if (!['model-config', 'bridge', 'nemo-rl'].includes(target)) {
        execFileSync('bash', ['-c', `${STUBS}\n${script}`], { cwd: folder });
      }
      expect(readdirSync(folder)).not.toContain('attacked');
    }
  });
});

/** What follows a key that takes a text, or anything, in the description of the format; a record has one entry with such a name. */
function attacked(spec: KeySpec, text: string): unknown {
  switch (spec.type) {
    case 'string':
    case 'any':
    case 'enum':
    case 'either':
      return text;
    case 'list':
      return [attacked(spec.items, text)].filter((one) => one !== undefined);
    case 'record':
      return { [text]: attacked(spec.values, text) };
    case 'map':
      return Object.fromEntries(
        Object.entries(spec.keys as Record<string, KeySpec>).flatMap(([key, inner]) => {
          const value = attacked(inner, text);
          return value === undefined ? [] : [[key, value]];
        }),
      );
    default:
      return undefined;
  }
}

onPosix('every text of the format', () => {
  const TEXTS = [
    NAME,
    '::error::x',
    '##vso[task.setvariable]x',
    '\u{e0041}\u3164\u00ad\ufe0f\u115f',
    '=1+1',
    '\n::error::x',
  ];
  const { modules: _, phases, ...others } = attacked(FORMAT, 'X') as Record<string, object>;
  const known = {
    layout: 1,
    world_size: 8,
    megatron: 'core_r0.18.0',
    parallelism: { tp: 2, pp: 2 },
    cluster: undefined,
  };
  const withText = (value: object | undefined, text: string) =>
    JSON.parse(JSON.stringify(value).replaceAll('"X"', JSON.stringify(text)));
  /** Layouts that hold a text in all their keys. */
  const whole = (text: string) => {
    const all = withText({ ...others, ...known, phases }, text);
    return [
      all,
      { layout: 1, world_size: 8, modules: { language: { dp: 1, model: all.model }, encoder: { tp: 1, dp: 1 } } },
      {
        layout: 1,
        world_size: 8,
        modules: {
          language: { tp: 2, num_ranks: 4, model: all.model },
          [text]: { tp: 2, num_ranks: 4, rank_offset: 4 },
        },
      },
    ];
  };
  /** Layouts that hold a text in one key: the texts take turns, so that over all commands each key has each of them. */
  const single = (turn: number) =>
    Object.entries({ ...others, phases }).map(([key, value], i) => ({
      ...known,
      [key]: key in known ? known[key as 'layout'] : withText(value, TEXTS[(turn + i) % TEXTS.length] ?? ''),
    }));
  const COMMANDS_OF_TEXTS = [
    ...[...EXPORT_TARGETS, 'groups-json', 'mermaid', 'svg'].map((target) => `export --allow-errors --to ${target}`),
    'draw --view table',
    'plan --show 1',
    'check',
  ];

  test.each(COMMANDS_OF_TEXTS)('commands nothing in `%s`', async (command) => {
    let printed = 0;
    const layouts = [...TEXTS.flatMap(whole), ...single(COMMANDS_OF_TEXTS.indexOf(command))];
    for (const [index, layout] of layouts.entries()) {
      writeFileSync(join(folder, 'texts.layout.yaml'), JSON.stringify(layout));
      const { stdout, stderr } = await call(...command.split(' '), 'texts.layout.yaml');
      printed += stdout.length;
      expect(stdout + stderr, `${index}`).not.toMatch(COMMANDS);
      expect(stdout + stderr, `${index}`).not.toMatch(CI_COMMANDS);
    }
    expect(printed, 'nothing was written').toBeGreaterThan(
      EXPORT_TARGETS.some((target) => command.endsWith(target)) ? 100 : -1,
    );
  });

  test('commands nothing in a plan, from comments and texts of several lines', async () => {
    const text = `# \u009b31m \u202e \u{e0041}\nlayout: 1\ndescription: |\n  ::error::x\n  y\nworld_size: 16\ncluster: {nodes: 2, gpus_per_node: 8, gpu: H100}\nparallelism: {tp: 2}\nmodel: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256}\nsequence: {seq_length: 4096}\nbatch: {micro_batch_size: 1, global_batch_size: 64}\n`;
    writeFileSync(join(folder, 'planned.layout.yaml'), text);
    for (const command of ['plan --show 1', 'resize --world 8 --show 1']) {
      const { stdout, status } = await call(...command.split(' '), 'planned.layout.yaml');
      expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('layout: 1') });
      expect(stdout).not.toMatch(COMMANDS);
      expect(stdout).not.toMatch(CI_COMMANDS);
    }
    writeFileSync(join(folder, 'planned.layout.yaml'), `${text}launch: {files: [planned.sh]}\n`);
    const script = 'torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2\n';
    for (const [line, shown] of [
      ['# plain', 0],
      ['# \u001b]52;c;eA==\u0007', 2],
      ['::error::x', 2],
    ] as const) {
      writeFileSync(join(folder, 'planned.sh'), `${line}\n${script}`);
      const { stdout, status } = await call('resize', '--world', '8', '--patch', '1', 'planned.layout.yaml');
      expect({ status, isPatch: stdout.startsWith('--- a/planned.sh') }).toEqual({
        status: shown,
        isPatch: shown === 0,
      });
      expect(stdout).not.toMatch(COMMANDS);
      expect(stdout).not.toMatch(/^[-+ ]?\s*::/m);
    }
  });
});

onPosix('a repository', () => {
  test('leads no reading beyond itself', async () => {
    const outside = join(folder, 'outside.sh');
    writeFileSync(outside, 'TP=4\n');
    const repository = join(folder, 'repository');
    mkdirSync(join(repository, '.git'), { recursive: true });
    symlinkSync(outside, join(repository, 'link.sh'));
    writeFileSync(join(repository, 'inside.sh'), 'PP=2\n');
    const names = ['./link.sh', '../outside.sh', outside, '/dev/zero', './inside.sh'];
    const command =
      'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP\n';
    writeFileSync(join(repository, 'run.sh'), `${names.map((name) => `source ${name}\n`).join('')}${command}`);
    const { values } = JSON.parse((await call('import', '--format', 'json', join(repository, 'run.sh'))).stdout);
    const valueFor = (key: string) => values.find((one: { key: string }) => one.key === key)?.value;
    expect([valueFor('parallelism.tp'), valueFor('parallelism.pp')]).toEqual([null, 2]);

    writeFileSync(outside, command);
    const layout = join(repository, 'job.layout.yaml');
    writeFileSync(layout, 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nlaunch: {files: [link.sh]}\n');
    const { status, stdout, stderr } = await call('drift', layout);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('which is outside its repository');
  });

  test('leads no fix beyond itself', async () => {
    const outside = join(folder, 'outside.layout.yaml');
    const text = 'layout: 1\nworld_size: "8"\nparallelism: {tp: 2}\n';
    writeFileSync(outside, text);
    const project = join(folder, 'linked');
    mkdirSync(join(project, '.git'), { recursive: true });
    symlinkSync(outside, join(project, 'link.layout.yaml'));
    const { status, stderr } = await call('check', '--fix', project);
    expect(stderr).toContain(
      'link.layout.yaml: the fixes were not written: it is a link to a file outside its repository',
    );
    expect(status).toBe(2);
    expect(readFileSync(outside, 'utf8')).toBe(text);
    expect(await call('check', '--fix', outside)).toMatchObject({ status: 0 });
    expect(readFileSync(outside, 'utf8')).toContain('world_size: 8\n');
  });

  test('has a .gitignore that is never read without end', async () => {
    const project = join(folder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'two.layout.yaml'), 'layout: 1\nworld_size: 2\nparallelism: {tp: 2}\n');
    execFileSync('mkfifo', [join(project, '.gitignore')]);
    expect(await call('check', project)).toMatchObject({ status: 0 });
    rmSync(join(project, '.gitignore'));
    symlinkSync('/dev/zero', join(project, '.gitignore'));
    expect(await call('check', project)).toMatchObject({ status: 0 });
  });

  test('has a configuration that is never read without end', async () => {
    const project = join(folder, 'configured');
    mkdirSync(project);
    writeFileSync(join(project, 'two.layout.yaml'), 'layout: 1\nworld_size: 2\nparallelism: {tp: 2}\n');
    symlinkSync('/dev/zero', join(project, '.parallelism-layout.yaml'));
    const { status, stderr } = await call('check', join(project, 'two.layout.yaml'));
    expect(stderr).toContain('.parallelism-layout.yaml: is not a regular file');
    expect(status).toBe(2);
  });
});

onPosix('a file that is not a regular file', () => {
  test.each([
    ...['check', 'groups', 'ntp', 'sequence', 'stages', 'estimate', 'plan', 'draw', 'drift', 'smoke', 'import'],
    'export --to torchrun',
  ])('is refused by `%s` before it is read', async (command) => {
    const [name] = command.split(' ');
    const device = join(folder, `${name}-device.layout.yaml`);
    symlinkSync('/dev/zero', device);
    const fifo = join(folder, `${name}-fifo.layout.yaml`);
    execFileSync('mkfifo', [fifo]);
    const directory = join(folder, `${name}-directory.layout.yaml`);
    mkdirSync(directory);
    for (const [file, reason] of [
      [device, 'is not a regular file'],
      [fifo, 'is not a regular file'],
      [directory, ['check', 'drift'].includes(command) ? 'no layout file (*.layout.yaml) in ' : 'is a directory'],
    ] as const) {
      const { status, stderr } = await call(...command.split(' '), file);
      expect(stderr).toContain(reason);
      expect(status).toBe(2);
    }
  });

  test('is refused as a cluster file', async () => {
    writeFileSync(join(folder, 'two.layout.yaml'), 'layout: 1\nworld_size: 2\nparallelism: {tp: 2}\n');
    const { status, stderr } = await call('smoke', '--clusters', '/dev/zero', 'two.layout.yaml');
    expect(stderr).toContain('/dev/zero: is not a regular file');
    expect(status).toBe(2);
  });
});

onPosix('a reader that goes away', () => {
  const many = join(folder, 'many.layout.yaml');
  const modules = Array.from(
    { length: 500 },
    (_, i) => `  m${i}: {tp: 2, num_ranks: ${4096 - 2 * i}, rank_offset: ${i}}\n`,
  );
  writeFileSync(many, `layout: 1\nworld_size: 4096\nmodules:\n${modules.join('')}`);

  test.each(['text', 'sarif'])('does not turn errors into success: `check --format %s | head -1`', async (format) => {
    const child = spawn(process.execPath, [CLI, 'check', '--format', format, many], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const status = await new Promise((done) => child.once('exit', done));
    expect([1, 141]).toContain(status);
  });

  test('and one that never comes ends a listing with the status of SIGPIPE', () => {
    const shell = `${process.execPath} ${CLI} groups ${many.replace('many', 'wide')} | true; echo "\${PIPESTATUS[0]}"`;
    writeFileSync(many.replace('many', 'wide'), 'layout: 1\nworld_size: 1048576\nparallelism: {tp: 8}\n');
    expect(execFileSync('/bin/bash', ['-c', shell], { encoding: 'utf8' }).trim()).toBe('141');
  });

  test.runIf(existsSync('/dev/full'))('and a full disk is said', () => {
    const { status, stderr } = spawnSync('/bin/sh', ['-c', `exec ${process.execPath} ${CLI} --help >/dev/full`]);
    expect(stderr.toString()).toBe('parallelism-layout: standard output: no space left on the device\n');
    expect(status).toBe(2);
  });

  test('as the reader of errors does not matter', () => {
    const shell = `${process.execPath} ${CLI} check none.layout.yaml 2>&1 >/dev/null | true; echo "\${PIPESTATUS[0]}"`;
    expect(execFileSync('/bin/bash', ['-c', shell], { encoding: 'utf8' }).trim()).toBe('2');
  });

  test('many such files are reported in bounded memory, and each of them', async () => {
    const nodeOptions = ['--max-old-space-size=256'];
    const args = ['check', '--format', 'json', ...Array<string>(9).fill(many)];
    const { stdout, status } = await cliProcess(folder, args, { nodeOptions });
    expect(status).toBe(1);
    const reports = JSON.parse(stdout) as { findings: object[] }[];
    expect(reports.map(({ findings }) => findings.length > 450)).toEqual(Array(9).fill(true));
    expect(stdout.length).toBeLessThan(9 * 2 ** 21);
  });

  test('groups of many modules on all ranks are refused with their number', async () => {
    const file = join(folder, 'modules.layout.yaml');
    const modules = ['language', 'a', 'b', 'c', 'd', 'e', 'f', 'g'].map(
      (name) => `  ${name}: {num_ranks: 4194304, tp: 8}\n`,
    );
    writeFileSync(file, `layout: 1\nworld_size: 4194304\nmodules:\n${modules.join('')}`);
    const { status, stdout, stderr } = await call('groups', '--ranks', file);
    expect(stderr).toMatch(/the groups have [\d,]+ members; at most [\d,]+ are listed/);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect((await call('groups', '--rank', '3', '--group', 'tp', file)).status).toBe(0);
  });

  test('the groups of nonuniform TP over many ranks take little memory', async () => {
    const file = join(folder, 'ntp.layout.yaml');
    writeFileSync(
      file,
      'layout: 1\nworld_size: 262143\nparallelism: {tp: 8, dp: 32768}\nntp: {tp_base: 8, tp_spares: 1, placement: packed, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]}\n',
    );
    const { status, stdout } = await cliProcess(folder, ['ntp', file], { nodeOptions: ['--max-old-space-size=48'] });
    expect(status).toBe(0);
    expect(stdout).toContain('262142');
  });
});
