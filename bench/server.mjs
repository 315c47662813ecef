// How fast the language server answers, beside the YAML and the JSON language servers in the same run, as ratios:
// `npm run bench:server [-- LINES...]`, after `npm ci` in bench/peers. It prints tables with the targets.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';
import { parse } from 'yaml';
import { layoutOfLines } from './layouts.mjs';

// a certificate file costs Node.js 85 ms a start
delete process.env.NODE_EXTRA_CA_CERTS;

const SIZES = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [40, 400, 10_000];
const EDITS = 300;
const SCHEMA = pathToFileURL(resolve('schemas/layout.schema.json')).href;
const peers = 'bench/peers/node_modules';
const noDelay = ['--require', resolve('bench/noDelay.cjs')];

/** Each server (the JSON server is asked for its diagnostics, which it otherwise puts off), what it calls the language, and the same data in that language. */
const SERVERS = {
  ours: {
    args: ['dist/server.js'],
    language: 'parallelism-layout',
    extension: 'layout.yaml',
    text: (yaml) => yaml,
  },
  yaml: {
    args: [...noDelay, `${peers}/yaml-language-server/bin/yaml-language-server`],
    language: 'yaml',
    extension: 'yaml',
    text: (yaml) => yaml,
  },
  json: {
    args: [`${peers}/vscode-json-languageserver/bin/vscode-json-languageserver`],
    language: 'json',
    extension: 'json',
    text: (yaml) => `${JSON.stringify(parse(yaml), null, 2)}\n`,
  },
};

class Client {
  #version = 1;
  #waiting = [];
  #published = 0;

  static async start(name) {
    const client = new Client();
    const { args } = SERVERS[name];
    const start = performance.now();
    const child = spawn(process.execPath, [...args, '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    connection.onNotification('textDocument/publishDiagnostics', () => client.#wake());
    connection.onRequest('workspace/configuration', ({ items }) =>
      items.map(({ section }) =>
        section === 'yaml' ? { validate: true, schemaStore: { enable: false }, schemas: { [SCHEMA]: ['*'] } } : {},
      ),
    );
    connection.onRequest('client/registerCapability', () => null);
    connection.onRequest('workspace/diagnostic/refresh', () => null);
    connection.listen();
    client.pulls = name === 'json';
    await connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: null,
      capabilities: {
        workspace: { configuration: true, didChangeConfiguration: { dynamicRegistration: true } },
        textDocument: {},
      },
    });
    client.started = performance.now() - start;
    Object.assign(client, { name, child, connection });
    await connection.sendNotification('initialized', {});
    const settings = {
      json: { validate: { enable: true }, schemas: [{ fileMatch: ['*'], url: SCHEMA, schema: readSchema() }] },
    };
    await connection.sendNotification('workspace/didChangeConfiguration', { settings });
    return client;
  }

  #wake() {
    this.#published = performance.now();
    for (const wake of this.#waiting.splice(0)) {
      wake();
    }
  }

  /** Waits for the next diagnostics, requested where the server does not send them. */
  async diagnostics() {
    if (this.pulls) {
      await this.connection.sendRequest('json/validate', this.uri);
    } else {
      await new Promise((wake) => this.#waiting.push(wake));
    }
  }

  async open(yaml) {
    const { language, extension, text } = SERVERS[this.name];
    this.uri = `file:///bench/job.${extension}`;
    this.text = text(yaml);
    this.at = this.#editedPlace();
    const found = this.pulls ? null : this.diagnostics();
    await this.connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri: this.uri, languageId: language, version: 1, text: this.text },
    });
    await (found ?? this.diagnostics());
  }

  /** The digit of the `tp` in the middle of the file. */
  #editedPlace() {
    const lines = this.text.split('\n');
    const middle = lines.length >> 1;
    const line = lines.findIndex((one, i) => i >= middle && /^\s*"?tp"?: \d/.test(one));
    const found = line < 0 ? lines.findIndex((one) => /^\s*"?tp"?: \d/.test(one)) : line;
    return { line: found, character: lines[found].search(/\d/) };
  }

  edit() {
    this.#version++;
    const range = { start: this.at, end: { ...this.at, character: this.at.character + 1 } };
    return this.connection.sendNotification('textDocument/didChange', {
      textDocument: { uri: this.uri, version: this.#version },
      contentChanges: [{ range, text: this.#version % 2 === 0 ? '4' : '2' }],
    });
  }

  async timedEdit() {
    const found = this.pulls ? null : this.diagnostics();
    const start = performance.now();
    await this.edit();
    await (found ?? this.diagnostics());
    return performance.now() - start;
  }

  /** A request sent right behind an edit. */
  async timedRequest(method) {
    const found = this.pulls ? Promise.resolve() : this.diagnostics();
    const start = performance.now();
    const edited = this.edit();
    await this.connection.sendRequest(method, { textDocument: { uri: this.uri }, position: this.at });
    const time = performance.now() - start;
    await Promise.all([edited, found]);
    return time;
  }

  /** A person types 31 keys, 30 ms apart; the time from the last to its diagnostics. */
  async burst() {
    for (let key = 0; key < 30; key++) {
      await this.edit();
      await new Promise((done) => setTimeout(done, 30));
    }
    if (this.pulls) {
      return this.timedEdit();
    }
    const start = performance.now();
    await this.edit();
    // the YAML server does not say which version its diagnostics belong to: the last ones count
    do {
      await new Promise((done) => setTimeout(done, 100));
    } while (performance.now() - Math.max(start, this.#published) < 2000);
    return this.#published - start;
  }

  memory() {
    const status = `/proc/${this.child.pid}/status`;
    return existsSync(status) ? Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(status, 'utf8'))[1]) / 1024 : Number.NaN;
  }

  async stop() {
    const ended = new Promise((done) => this.child.once('exit', done));
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    await ended;
    this.connection.dispose();
  }
}

function readSchema() {
  return JSON.parse(readFileSync('schemas/layout.schema.json', 'utf8'));
}

const sorted = (times) => [...times].sort((a, b) => a - b);
const percentile = (times, share) => sorted(times)[Math.min(times.length - 1, Math.floor(times.length * share))];
const median = (times) => percentile(times, 0.5);

async function times(n, measure) {
  const all = [];
  for (let i = 0; i < n; i++) {
    all.push(await measure());
  }
  return all;
}

/** Node.js that does nothing: the least that any start can take. */
function emptyStart() {
  const start = performance.now();
  return new Promise((done) => {
    spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }).once('exit', () => done(performance.now() - start));
  });
}

/** In how many rounds the servers take turns, so that what else the machine does falls on all alike. */
const ROUNDS = 10;

/** All servers over one file: what each measurement came to, by server. */
async function measure(lines) {
  const yaml = layoutOfLines(lines);
  const names = Object.keys(SERVERS);
  const all = Object.fromEntries(
    names.map((name) => [
      name,
      { starts: [], opens: [], edits: [], completion: [], hover: [], bursts: [], memory: Number.NaN },
    ]),
  );
  const clients = {};
  const isLong = lines > 1000;
  const edits = isLong ? EDITS / 3 : EDITS;
  for (let i = 0; i < 4; i++) {
    for (const name of names) {
      await clients[name]?.stop();
      clients[name] = await Client.start(name);
      all[name].starts.push(clients[name].started);
      const start = performance.now();
      await clients[name].open(yaml);
      all[name].opens.push(performance.now() - start);
    }
  }
  // what runs a few times only is still interpreted
  const requests = isLong ? 2 : 10;
  for (const name of names) {
    const client = clients[name];
    await times(isLong ? 5 : 20, () => client.timedEdit());
    await times(requests, () => client.timedRequest('textDocument/completion'));
    await times(requests, () => client.timedRequest('textDocument/hover'));
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) {
      const client = clients[name];
      all[name].edits.push(...(await times(edits / ROUNDS, () => client.timedEdit())));
      all[name].completion.push(...(await times(requests, () => client.timedRequest('textDocument/completion'))));
      all[name].hover.push(...(await times(requests, () => client.timedRequest('textDocument/hover'))));
      if (isLong && round < 3) {
        all[name].bursts.push(await client.burst());
      }
    }
  }
  for (const name of names) {
    const client = clients[name];
    // the YAML server takes half a second for each edit of a long file
    for (let i = 0; i < (isLong ? 0 : 1000); i++) {
      await client.edit();
    }
    await client.timedEdit();
    await new Promise((done) => setTimeout(done, 300));
    all[name].memory = client.memory();
    await client.stop();
  }
  return Object.fromEntries(names.map((name) => [name, summary(all[name])]));
}

function summary({ starts, opens, edits, completion, hover, bursts, memory }) {
  return {
    'start -> initialize': median(starts),
    'open -> first diagnostics': median(opens),
    'edit -> diagnostics p50': median(edits),
    'edit -> diagnostics p95': percentile(edits, 0.95),
    'edit -> diagnostics p99': percentile(edits, 0.99),
    'completion after an edit': median(completion),
    'hover after an edit': median(hover),
    'last key of a burst': bursts.length > 0 ? median(bursts) : Number.NaN,
    'memory after all edits': memory,
  };
}

/** The most that ours may take, as shares of the YAML server's and of the JSON server's. */
const TARGETS = {
  'start -> initialize': { yaml: 0.5 },
  'edit -> diagnostics p50': { yaml: [undefined, 1 / 4, 1 / 8], json: [undefined, 1.2, 1.5] },
  'completion after an edit': { yaml: [undefined, 1 / 4, undefined] },
  'hover after an edit': { yaml: [undefined, 1 / 4, undefined] },
  'memory after all edits': { yaml: [1, 0.6, 0.6] },
};

function row(measured, what, size, ours, yaml, json) {
  const target = (peer) => {
    const wanted = TARGETS[what]?.[peer];
    return Array.isArray(wanted) ? wanted[size] : wanted;
  };
  const share = (other, peer) => {
    if (Number.isNaN(ours) || Number.isNaN(other)) {
      return '';
    }
    const wanted = target(peer);
    const verdict =
      wanted === undefined
        ? ''
        : ours / other <= wanted
          ? ` (<= ${wanted.toFixed(3)})`
          : ` (MISSED ${wanted.toFixed(3)})`;
    return `${(ours / other).toFixed(3)}${verdict}`;
  };
  return [what, measured(ours), measured(yaml), measured(json), share(yaml, 'yaml'), share(json, 'json')];
}

const text = (value) => (Number.isNaN(value) ? '' : value.toFixed(value < 10 ? 2 : 0));

console.log(`Node.js ${process.version}; milliseconds, MiB; peers without their delay`);
for (const lines of SIZES) {
  const size = lines < 100 ? 0 : lines < 1000 ? 1 : 2;
  const found = await measure(lines);
  const rows = [['', 'ours', 'yaml', 'json', 'ours / yaml', 'ours / json']];
  for (const what of Object.keys(found.ours)) {
    rows.push(row(text, what, size, found.ours[what], found.yaml[what], found.json[what]));
  }
  const widths = rows[0].map((_, i) => Math.max(...rows.map((cells) => cells[i].length)));
  console.log(`\n${lines.toLocaleString('en-US')} lines`);
  for (const cells of rows) {
    console.log(
      `  ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')}`,
    );
  }
  const nothing = median(await times(5, emptyStart));
  const start = found.ours['start -> initialize'] / nothing;
  console.log(`  start -> initialize is ${start.toFixed(1)} x an empty Node.js (${text(nothing)} ms)`);
}
