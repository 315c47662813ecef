import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { until } from '../harness/until';

/**
 * Ports of the loopback that are free, below those that Linux (from 32768) and macOS (from 49152) give away by themselves: until
 * the daemon listens, the kernel gives none of them to the connection of another test.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  // processes that choose at the same moment begin far from each other
  for (let port = 10_000 + ((process.pid * 97) % 20_000); ports.length < count; port += 1) {
    if (await isFree(port)) {
      ports.push(port);
    }
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((closed) => server.close(closed));
  }
}

/** Ends a child and waits for it. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(late);
  }
}

/** A real Slurm on the loopback of this machine: its own munge, controller and nodes, in a folder and on ports of its own. */
export class SlurmLab {
  readonly #daemons = new Map<string, ChildProcess>();
  readonly #config: string;

  private constructor(
    readonly folder: string,
    readonly nodes: number,
  ) {
    this.#config = join(folder, 'slurm.conf');
  }

  /** The environment in which Slurm's commands find this cluster. */
  get environment(): NodeJS.ProcessEnv {
    return { ...process.env, SLURM_CONF: this.#config };
  }

  /** @param cpus CPUs that each node says it has: more than the machine's, to hold many ranks */
  static async start(nodes: number, cpus: number): Promise<SlurmLab> {
    const folder = mkdtempSync(join(tmpdir(), 'slurm-lab-'));
    chmodSync(folder, 0o755);
    const lab = new SlurmLab(folder, nodes);
    try {
      await lab.#start(cpus);
    } catch (error) {
      const logs = ['slurmctld', 'n1'].map((name) => lab.#tail(name)).join('\n');
      await lab.stop();
      throw new Error(`Slurm did not start: ${error}\n${logs}`);
    }
    return lab;
  }

  async #start(cpus: number): Promise<void> {
    const [controller = 0, ...ports] = await freePorts(this.nodes + 1);
    for (const name of ['state', 'spool', 'munge']) {
      mkdirSync(join(this.folder, name), { mode: name === 'munge' ? 0o700 : 0o755 });
    }
    writeFileSync(join(this.folder, 'munge', 'key'), randomBytes(128), { mode: 0o400 });
    writeFileSync(this.#config, this.#configuration(cpus, controller, ports));
    const munge = (name: string) => join(this.folder, name);
    this.#daemon('munged', '/usr/sbin/munged', [
      ...['--foreground', '--force', `--key-file=${munge('munge/key')}`, `--socket=${munge('munge.socket')}`],
      ...[`--pid-file=${munge('munge/pid')}`, `--log-file=${munge('munge/log')}`, `--seed-file=${munge('munge/seed')}`],
    ]);
    await until(
      () => this.#works('munge', ['--socket', munge('munge.socket'), '--no-input']),
      Boolean,
      'munge answers',
    );
    this.startController();
    for (let node = 1; node <= this.nodes; node++) {
      this.#daemon(`n${node}`, '/usr/sbin/slurmd', ['-D', '-N', `n${node}`]);
    }
    await until(() => this.idle(), Boolean, 'all nodes are idle');
  }

  /** Whether all nodes are up, and have nothing to do. */
  idle(): boolean {
    const states = this.run('sinfo', '--noheader', '--Node', '--partition=smoke', '--format=%t').split('\n');
    return states.filter((state) => state === 'idle').length === this.nodes;
  }

  #configuration(cpus: number, controller: number, ports: readonly number[]): string {
    const at = (name: string) => join(this.folder, name);
    const node = (port: number, i: number) =>
      `NodeName=n${i + 1} NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=${port} CPUs=${cpus} RealMemory=1000 Feature=fast`;
    return `${[
      'ClusterName=lab',
      `SlurmctldHost=${hostname()}(127.0.0.1)`,
      `SlurmctldPort=${controller}`,
      ...[`SlurmUser=${userInfo().username}`, `SlurmdUser=${userInfo().username}`],
      ...['AuthType=auth/munge', 'CredType=cred/munge'],
      `AuthInfo=socket=${at('munge.socket')}`,
      `StateSaveLocation=${at('state')}`,
      `SlurmdSpoolDir=${at('spool')}/%n`,
      ...[`SlurmctldPidFile=${at('slurmctld.pid')}`, `SlurmdPidFile=${at('slurmd.%n.pid')}`],
      // no cgroups, no systemd
      ...['ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none', 'JobAcctGatherType=jobacct_gather/none'],
      ...['SwitchType=switch/none', 'MpiDefault=none', 'SelectType=select/cons_tres', 'SelectTypeParameters=CR_Core'],
      ...['SlurmdParameters=config_overrides', 'SchedulerType=sched/backfill'],
      'SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=1',
      ...['PreemptType=preempt/partition_prio', 'PreemptMode=CANCEL', 'KillWait=10', 'MinJobAge=300'],
      ...['ReturnToService=2', 'AccountingStorageType=accounting_storage/none', 'PropagateResourceLimits=NONE'],
      ...ports.map(node),
      'PartitionName=smoke Nodes=ALL Default=YES PriorityTier=5 PreemptMode=OFF State=UP',
      'PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=CANCEL GraceTime=0 State=UP',
      'PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP',
    ].join('\n')}\n`;
  }

  #daemon(name: string, program: string, words: readonly string[]): void {
    const log = openSync(join(this.folder, `${name}.log`), 'a');
    // it ends with the runner, in whatever way that ends
    const tied = ['--pdeathsig', 'KILL', '--', program, ...words];
    const child = spawn('setpriv', tied, { env: this.environment, stdio: ['ignore', log, log] });
    closeSync(log);
    child.once('error', () => undefined);
    this.#daemons.set(name, child);
  }

  startController(): void {
    this.#daemon('slurmctld', '/usr/sbin/slurmctld', ['-D', '-i']);
  }

  /** Ends the controller; its state is on disk. */
  async stopController(): Promise<void> {
    const controller = this.#daemons.get('slurmctld');
    if (controller) {
      await end(controller);
    }
  }

  /** The output of one of Slurm's commands, without the last line's end. */
  run(program: string, ...words: string[]): string {
    return execFileSync(program, words, { env: this.environment, encoding: 'utf8', stdio: 'pipe' }).trimEnd();
  }

  /** Jobs that are not over. */
  jobs(): string[] {
    return this.run('squeue', '--noheader', '--format=%A').split('\n').filter(Boolean);
  }

  /** A job that takes all nodes for as long as it is let. */
  occupy(partition: string): string {
    return this.run(
      'sbatch',
      '--parsable',
      `--partition=${partition}`,
      '--exclusive',
      `--nodes=${this.nodes}`,
      '--output=/dev/null',
      '--wrap=sleep 600',
    );
  }

  #works(program: string, words: readonly string[]): boolean {
    try {
      execFileSync(program, words, { env: this.environment, stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  }

  #tail(name: string): string {
    try {
      return readFileSync(join(this.folder, `${name}.log`), 'utf8').slice(-2000);
    } catch {
      return '';
    }
  }

  /** Cancels what is left, ends the daemons, and removes the folder. */
  async stop(): Promise<void> {
    this.#works('scancel', ['--me']);
    const gone = () => !this.#works('squeue', []) || this.jobs().length === 0;
    await until(gone, Boolean, 'all jobs are gone').catch(() => undefined);
    const munged = this.#daemons.get('munged');
    await Promise.all([...this.#daemons.values()].filter((daemon) => daemon !== munged).map(end));
    if (munged) {
      await end(munged);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
