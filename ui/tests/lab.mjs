// @ts-check
// A person with a browser and the machines of a lab (`assisted-lab up --by-hand`), which boot what the wizard gives: from the log-in to
// the kubeconfig of an installed cluster. LAB names the lab's folder; it is run in the lab's network, by tests of the lab.

import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './lib/browser.mjs';
import { logIn } from './lib/log-in.mjs';
import { Service } from './lib/service.mjs';
import { Wizard } from './lib/wizard.mjs';

/** @param {string} name */
function variable(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} has to be set`);
  return value;
}

const dir = variable('LAB');
const limit = Number(variable('LAB_MINUTES')) * 60_000;
const [api, ingress] = variable('LAB_VIPS').split(',');

/** @param {string} name */
const read = async (name) => (await readFile(join(dir, name), 'utf8')).trim();

/**
 * Brings an image to the machines, as a person does with a stick. An image service may still have to make it.
 * @param {string} address
 */
async function bring(address) {
  for (const until = Date.now() + limit; ; ) {
    const answer = await fetch(address);
    if (answer.ok && answer.body) {
      const whole = join(dir, 'discovery.iso');
      await pipeline(Readable.fromWeb(/** @type {any} */ (answer.body)), createWriteStream(`${whole}.part`));
      return rename(`${whole}.part`, whole);
    }
    if (answer.status !== 503 || Date.now() > until) throw new Error(`${address}: ${answer.status} ${await answer.text()}`);
    await sleep(2000);
  }
}

const { url } = JSON.parse(await read('lab.json'));

await run(
  async ({ service, page, expectError }) => {
    const wizard = new Wizard(page);
    expectError(/^401 .*\/auth\/me$/);
    await page.goto(service.url);
    await page.getByRole('heading', { name: 'Log in to assisted' }).waitFor();
    await logIn(page, 'admin', await read('password'));
    await page.getByText('admin (admin)').waitFor();

    await wizard.begin('lab', 'example.com');
    await wizard.make(await read('pull-secret.json'));
    // Operators, then hosts.
    await wizard.next();
    await bring(await wizard.image());
    await wizard.hosts(3, limit);
    await wizard.toNetworking();
    await wizard.field('apiVips-0-ip').fill(api ?? '');
    await wizard.field('ingressVips-0-ip').fill(ingress ?? '');
    await wizard.next();
    await wizard.install(limit);

    await page.getByRole('heading', { name: 'lab installed' }).waitFor({ timeout: limit });
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText(/Installation completed successfully/i).first().waitFor();
    const kubeconfig = await wizard.kubeconfig();
    await kubeconfig.saveAs(join(dir, variable('LAB_KUBECONFIG')));
    assert.match(await read(variable('LAB_KUBECONFIG')), /^ +server: https:\/\/api\.lab\.example\.com:6443$/m);
  },
  { running: Service.at(url) },
);
