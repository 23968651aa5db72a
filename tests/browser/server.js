/**
 * A rankcast server of a test's own: on a free port, with a data directory that goes with it.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const binary = process.env.RANKCAST_BIN ?? fileURLToPath(new URL('../../target/debug/rankcast', import.meta.url));
/** Why tests that need the server cannot run; false when they can. */
export const skip = existsSync(binary) ? false : `there is no server at ${binary}: build it, or set RANKCAST_BIN`;

const KEY = 'rck_browser_tests';
/** A server that says nothing for this long after its start, or does not end when told, is broken. In ms. */
const PATIENCE_MS = 15_000;

// A run that is interrupted leaves no server behind.
const children = new Set();
process.on('exit', () => children.forEach(child => child.kill('SIGKILL')));

export class RankcastServer {
  #command;
  #data;
  #child = null;
  #port = 0;

  constructor(command) {
    this.#command = command;
  }

  /** @param {"serve"|"demo"} command */
  static async start(command = 'serve') {
    const server = new this(command);
    if (command === 'serve') server.#data = await mkdtemp(join(tmpdir(), 'rankcast-browser-'));
    await server.run();
    return server;
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts the process; after a stop, on the same port with the same data. */
  async run() {
    const options = ['--listen', `127.0.0.1:${this.#port}`, ...(this.#data ? ['--data', this.#data] : [])];
    const child = spawn(binary, [this.#command, ...options], {
      env: { ...process.env, RANKCAST_ADMIN_KEY: KEY },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.add(child);
    this.#child = child;
    let complaints = '';
    child.stderr.on('data', text => { complaints = (complaints + text).slice(-4_000); });
    this.#port = await new Promise((resolve, reject) => {
      const fail = why => reject(new Error(`${why}; its last words: ${complaints || 'none'}`));
      const timer = setTimeout(() => fail('the server did not come up'), PATIENCE_MS);
      createInterface(child.stdout).on('line', line => {
        const [, port] = /^rankcast listens on http:\/\/[^ ]+:(\d+)$/.exec(line) ?? [];
        if (!port) return;
        clearTimeout(timer);
        resolve(Number(port));
      });
      child.once('error', error => fail(error.message));
      child.once('exit', code => {
        children.delete(child);
        clearTimeout(timer);
        fail(`the server ended with ${code}`);
      });
    });
  }

  /** Stops the process as an operator would. */
  async stop() {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode) return;
    const ended = new Promise(resolve => child.once('exit', resolve));
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    child.kill('SIGTERM');
    await ended;
    clearTimeout(timer);
  }

  /** Stops it for good. */
  async remove() {
    await this.stop();
    if (this.#data) await rm(this.#data, { recursive: true, force: true });
  }

  async #ask(method, path, body) {
    const answer = await fetch(this.url + path, { method, body, headers: { authorization: `Bearer ${KEY}` } });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text.slice(0, 1_000)}`);
    return text ? JSON.parse(text) : null;
  }

  /** Makes or changes a contest. */
  contest(id, contest) {
    return this.#ask('PUT', `/api/contests/${id}`, JSON.stringify(contest));
  }

  /** Posts CLICS notifications. @param {{type: string, id: string|null, data: object|null}[]} events */
  async events(id, events) {
    const posted = await this.#ask('POST', `/api/contests/${id}/events`, events.map(event => JSON.stringify(event)).join('\n'));
    assert.deepEqual(posted.errors, []);
    return posted;
  }

  /** Posts judgements in the short form, which brings the submission along. */
  async judgements(id, judgements) {
    const posted = await this.#ask('POST', `/api/contests/${id}/judgements`, JSON.stringify(judgements));
    assert.deepEqual([posted.errors, posted.kept_aside], [[], 0]);
    return posted;
  }

  board(id) {
    return this.#ask('GET', `/api/contests/${id}/board`);
  }
}
