// @ts-check
// A real service and simulated hosts, as child processes that end with this one.

import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const START_MS = 60_000;
const READY_MS = 60_000;

export const PULL_SECRET = JSON.stringify({ auths: { 'quay.io': { auth: 'dXNlcjpwYXNz', email: 'user@example.com' } } });

/** Lets each session of a database have ended a second ago, and tells how many there were. Node has no SQLite of its own before 22. */
const EXPIRE = `
import sqlite3, sys, time
with sqlite3.connect(sys.argv[1]) as database:
    ended = time.time_ns() - 10**9
    print(database.execute("update user_tokens set expires_at = ? where kind = 'session'", (ended,)).rowcount)
`;

/** @param {string} name */
function program(name) {
  const path = process.env[name];
  if (!path) throw new Error(`${name} has to name a program`);
  return path;
}

/**
 * @param {string} path
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
function tied(path, args, options) {
  const setpriv = '/usr/bin/setpriv';
  return existsSync(setpriv) ? spawn(setpriv, ['--pdeathsig', 'KILL', '--', path, ...args], options) : spawn(path, args, options);
}

export class Service {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {string} */
  #listen;
  /** @type {Record<string, string>} */
  #env;
  url = '';
  /** The code by which the first administrator is made. */
  setupCode = '';
  dir = '';

  /**
   * @param {Record<string, string>} env
   * @param {string} listen
   */
  constructor(env, listen) {
    this.#env = env;
    this.#listen = listen;
  }

  /**
   * @param {Record<string, string>} env
   * @param {string} listen
   */
  static async start(env = {}, listen = '127.0.0.1:0') {
    const service = new Service(env, listen);
    service.dir = await mkdtemp(join(tmpdir(), 'assisted-ui-'));
    await writeFile(join(service.dir, 'pull-secret.json'), PULL_SECRET);
    await service.begin();
    return service;
  }

  /**
   * One that runs already, and goes on afterwards.
   * @param {string} url
   */
  static at(url) {
    const service = new Service({}, '');
    service.url = url;
    return service;
  }

  /** Starts it, the second time where it was. */
  async begin() {
    const args = ['serve', '--listen', this.#listen, '--data-dir', this.dir, '--generator', 'simulation'];
    const child = tied(program('ASSISTED'), args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, LOG_LEVEL: 'error', ...this.#env },
    });
    this.#child = child;
    const wantsCode = this.#env.AUTH_TYPE === 'users' && this.setupCode === '';
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the service does not start')), START_MS);
      child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
      if (!child.stdout) throw new Error('no output');
      createInterface({ input: child.stdout }).on('line', (line) => {
        const url = /listening on (http\S+)/.exec(line)?.[1];
        if (url) this.url = url;
        this.setupCode = /--setup (\S+)/.exec(line)?.[1] ?? this.setupCode;
        if (this.url && (!wantsCode || this.setupCode)) {
          clearTimeout(timer);
          resolve(undefined);
        }
      });
    });
    this.#listen = new URL(this.url).host;
  }

  /** Kills it; its data stay. */
  async kill() {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  async end() {
    await this.kill();
    if (this.dir !== '') await rm(this.dir, { recursive: true, force: true });
  }

  /**
   * Lets all sessions come to the end of their time, while the service runs and browsers hold their cookies; how many there were.
   */
  async expireSessions() {
    const python = process.env.ASSISTED_PYTHON ?? 'python3';
    const { stdout } = await promisify(execFile)(python, ['-c', EXPIRE, join(this.dir, 'assisted.db')]);
    return Number(stdout);
  }

  /**
   * The answer of the API, which has to be good.
   * @param {string} path
   * @param {{ method?: string, body?: unknown, token?: string }} options
   */
  async ask(path, { method = 'GET', body, token } = {}) {
    const answer = await fetch(`${this.url}/api/assisted-install${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /**
   * `assisted`, which asks this service; what it keeps of a log-in is in the service's folder.
   * @param {string[]} words
   */
  cli(words) {
    return tied(program('ASSISTED'), ['--url', this.url, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, XDG_CONFIG_HOME: join(this.dir, 'config') },
    });
  }

  /**
   * Makes a cluster with its infra-env.
   * @param {string} name
   * @param {string} [token]
   */
  async cluster(name, token) {
    const common = { name, pull_secret: PULL_SECRET, openshift_version: '4.20' };
    const cluster = await this.ask('/v2/clusters', {
      method: 'POST', token, body: { ...common, base_dns_domain: 'example.com', control_plane_count: 3 },
    });
    const infraEnv = await this.ask('/v2/infra-envs', {
      method: 'POST', token, body: { ...common, name: `${name}_infra-env`, cluster_id: cluster.id },
    });
    return { cluster: cluster.id, infraEnv: infraEnv.id };
  }

  /**
   * Begins an installation. Hosts that have just come, or come again, take a while until they are ready.
   * @param {string} id
   */
  async install(id) {
    for (const until = Date.now() + READY_MS; ; ) {
      try {
        await this.ask(`/v2/clusters/${id}/actions/install`, { method: 'POST' });
        return;
      } catch (error) {
        if (!String(error).includes('not ready') || Date.now() > until) throw error;
        await sleep(500);
      }
    }
  }

  /**
   * Simulated hosts for a cluster; the promise ends with them.
   * @param {{ cluster: string, infraEnv: string }} ids
   * @param {string[]} more
   */
  simulate({ cluster, infraEnv }, more) {
    const args = ['--url', this.url, 'simulate', '--cluster', cluster, '--infra-env', infraEnv, ...more];
    const child = tied(program('ASSISTED_LAB'), args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: this.dir });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    return {
      ended,
      kill: async () => {
        child.kill('SIGKILL');
        await ended;
      },
    };
  }
}
