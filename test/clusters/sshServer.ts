import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { until } from '../harness/until';
import { end, freePorts } from './slurmCluster';

/** What the login shell says before any command: ssh users know it well. */
const GREETING = 'Welcome to the lab. Mind the step.';

/** A port where nobody listens, and which the kernel gives to no other test. */
const UNSERVED = 1;

/**
 * A real sshd on the loopback with keys of its own, and a client's configuration with three hosts: `lab`; `stranger`, where
 * the key is not known; and `nobody`, where nobody listens.
 */
export class SshServer {
  #sshd: ChildProcess | undefined;

  private constructor(readonly folder: string) {}

  /** A folder for PATH: its `ssh` is the system's, with this configuration in the place of the user's. */
  get bin(): string {
    return join(this.folder, 'bin');
  }

  /** @param environment variables that the server sets for every session */
  static async start(environment: Readonly<Record<string, string>>): Promise<SshServer> {
    const server = new SshServer(mkdtempSync(join(tmpdir(), 'ssh-lab-')));
    const [port = 0] = await freePorts(1);
    server.#keys(port);
    server.#client(port);
    await server.#serve(port, environment);
    return server;
  }

  #path(name: string): string {
    return join(this.folder, name);
  }

  #keys(port: number): void {
    for (const name of ['host_key', 'user_key', 'other_key']) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', this.#path(name)]);
    }
    const publicKey = (name: string) => readFileSync(this.#path(`${name}.pub`), 'utf8');
    writeFileSync(this.#path('authorized_keys'), publicKey('user_key'));
    writeFileSync(this.#path('known_hosts'), `[127.0.0.1]:${port} ${publicKey('host_key')}`);
  }

  #client(port: number): void {
    const host = (name: string, to: number, key: string) =>
      `Host ${name}\n  HostName 127.0.0.1\n  Port ${to}\n  User ${userInfo().username}\n  IdentityFile ${this.#path(key)}\n`;
    const common = [
      'Host *',
      ...['IdentitiesOnly yes', 'IdentityAgent none', 'GlobalKnownHostsFile none', 'StrictHostKeyChecking yes'],
      `UserKnownHostsFile ${this.#path('known_hosts')}`,
    ];
    const hosts = [
      host('lab', port, 'user_key'),
      host('stranger', port, 'other_key'),
      host('nobody', UNSERVED, 'user_key'),
    ];
    writeFileSync(this.#path('ssh_config'), `${hosts.join('')}${common.join('\n  ')}\n`);
    mkdirSync(this.bin);
    const wrapper = `#!/bin/sh\nexec /usr/bin/ssh -F '${this.#path('ssh_config')}' "$@"\n`;
    writeFileSync(join(this.bin, 'ssh'), wrapper, { mode: 0o755 });
  }

  async #serve(port: number, environment: Readonly<Record<string, string>>): Promise<void> {
    if (userInfo().uid === 0) {
      // where sshd as root keeps what has no privileges; Debian makes it when the service starts
      mkdirSync('/run/sshd', { recursive: true });
    }
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const settings = [
      ...[`Port ${port}`, 'ListenAddress 127.0.0.1', 'PidFile none', 'StrictModes no', 'PermitRootLogin yes'],
      ...[`HostKey ${this.#path('host_key')}`, `AuthorizedKeysFile ${this.#path('authorized_keys')}`],
      ...['UsePAM no', 'PasswordAuthentication no', 'KbdInteractiveAuthentication no', 'PrintMotd no'],
      `SetEnv ${variables.join(' ')}`,
      `ForceCommand echo '${GREETING}'; eval "$SSH_ORIGINAL_COMMAND"`,
    ];
    writeFileSync(this.#path('sshd_config'), `${settings.join('\n')}\n`);
    this.#sshd = spawn('/usr/sbin/sshd', ['-D', '-f', this.#path('sshd_config'), '-E', this.#path('sshd.log')], {
      stdio: 'ignore',
    });
    let open = false;
    const look = () => {
      const socket = connect(port, '127.0.0.1', () => {
        open = true;
        socket.destroy();
      }).on('error', () => undefined);
      return open;
    };
    await until(look, Boolean, 'sshd listens');
  }

  /** Ends the server's processes of all sessions, as a network that breaks does. */
  breakConnections(): number {
    // for anybody but root, a session is a process that watches and one that holds the connection
    const watchers = servedBy(this.#sshd?.pid ?? 0);
    const sessions = [...watchers, ...watchers.flatMap(servedBy)];
    for (const pid of sessions) {
      process.kill(pid, 'SIGKILL');
    }
    return sessions.length;
  }

  async stop(): Promise<void> {
    this.breakConnections();
    if (this.#sshd) {
      await end(this.#sshd);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The processes of the server that one of it has started; not the commands of its sessions. */
function servedBy(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, program, rest = ''] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return program === 'sshd' && Number(rest.split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
}
