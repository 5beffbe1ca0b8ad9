// @ts-check
// A person with a browser and simulated machines: from an empty list by the wizard to an installed cluster, and one host more; another
// installation is aborted, reset, and deleted.

import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { own } from './lib/access.mjs';
import { PULL_SECRET } from './lib/service.mjs';
import { run } from './lib/browser.mjs';
import { Wizard } from './lib/wizard.mjs';

/** Has an entry that no release asks for. */
const OTHER_SECRET = JSON.stringify({ auths: { 'registry.example.com': { auth: 'dXNlcjpwYXNz' } } });

await run(async ({ service, page, expectError, picture }) => {
  const wizard = new Wizard(page);
  await page.goto(service.url);
  await wizard.begin('demo', 'example.com');
  await picture('wizard');
  await wizard.pullSecretHelp();

  // A pull secret that opens nothing is refused with the reason, and the form stays.
  expectError(/^400 .*\/v2\/clusters\/?$/);
  await wizard.field('pullSecret').fill(OTHER_SECRET);
  await wizard.next();
  await page.getByText(/pull secret/i).and(page.locator('.pf-v6-c-alert *')).first().waitFor();
  const help = page.getByRole('link', { name: 'What to do', exact: true });
  await help.waitFor();
  assert.equal(await help.getAttribute('href'), '/docs/errors#pull-secret');
  const cluster = await wizard.make(PULL_SECRET);
  await help.waitFor({ state: 'detached' });
  const [infraEnv] = await service.ask(`/v2/infra-envs?cluster_id=${cluster}`);

  // Operators, then hosts.
  await wizard.next();
  await wizard.troubleshooting();
  assert.match(await wizard.image(), /^https?:/);
  const ids = { cluster, infraEnv: infraEnv.id };
  // The worker is switched on as soon as the cluster takes it.
  const hosts = service.simulate(ids, ['--hosts-only', '--speed', '60', '--add-workers', '1']);
  await wizard.hosts(3, 90_000);
  await picture('discovery');
  await wizard.toNetworking();

  // Networking: an address beyond the network is refused before anything is sent, one within it goes on.
  const { host_networks } = await service.ask(`/v2/clusters/${cluster}`);
  const base = host_networks[0].cidr.split('.').slice(0, 3).join('.');
  await wizard.field('apiVips-0-ip').fill('192.0.2.50');
  await wizard.field('ingressVips-0-ip').fill(`${base}.51`);
  await page.getByText('IP Address is outside of selected subnet').first().waitFor();
  assert.equal(await page.locator('button[name=next]').isDisabled(), true);
  // Beyond the hosts, and within a network of 64 addresses.
  await wizard.field('apiVips-0-ip').fill(`${base}.50`);
  await page.getByText('IP Address is outside of selected subnet').waitFor({ state: 'detached' });
  await wizard.next();

  // Review, with what has happened so far, and install.
  await page.locator('button[name=install]:not([disabled])').waitFor({ timeout: 90_000 });
  const { api_vips } = await service.ask(`/v2/clusters/${cluster}`);
  assert.equal(api_vips[0].ip, `${base}.50`);
  await picture('review');
  await page.locator('#cluster-events-button').click();
  const events = page.locator('#events-modal');
  await events.getByText('Updated status of the cluster to ready').first().waitFor();
  await events.getByTestId('close-events-modal').click();
  await events.waitFor({ state: 'detached' });
  await wizard.install(90_000);

  // It grows, and never goes back.
  const installed = page.getByRole('heading', { name: 'demo installed' });
  const bar = page.getByRole('progressbar');
  /** @type {number[]} */
  const percentages = [];
  for (const until = Date.now() + 180_000; !(await installed.isVisible()) && Date.now() < until; ) {
    const value = Number((await bar.count()) > 0 && (await bar.getAttribute('aria-valuenow').catch(() => 0)));
    if (value > (percentages.at(-1) ?? 0)) percentages.push(value);
    else if (value !== 0) assert.equal(value, percentages.at(-1), percentages.join(', '));
    await page.waitForTimeout(100);
  }
  await installed.waitFor();
  assert.ok(percentages.length > 3, `percentages: ${percentages.join(', ')}`);

  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText(/Installation completed successfully/i).first().waitFor({ timeout: 60_000 });
  const kubeconfig = await wizard.kubeconfig();
  assert.match(kubeconfig.suggestedFilename(), /^kubeconfig/);
  assert.match(await readFile(await kubeconfig.path(), 'utf8'), /^ +server: https:\/\/api\.demo\.example\.com:6443$/m);
  const logs = await wizard.downloaded(() => page.getByTestId('cluster-installation-logs-button').click());
  assert.ok((await stat(await logs.path())).size > 1024, 'the logs are empty');
  await own(page, 'the installed cluster');
  await picture('installed');

  // The second day: the wizard of its own has the image, and one worker more is installed.
  await page.locator('#cluster-detail-button-add-hosts').click();
  const install = page.getByRole('button', { name: 'Install ready hosts' });
  await install.waitFor();
  const { status } = await service.ask(`/v2/clusters/${cluster}`);
  assert.equal(status, 'adding-hosts');
  await page.getByRole('button', { name: 'Add hosts' }).first().click();
  const modal = page.locator('#generate-discovery-iso-modal');
  await modal.getByRole('button', { name: 'Next' }).click();
  // A step on the way is a button of that name, too.
  await modal.getByText('SSH public key').first().waitFor();
  await modal.getByRole('button', { name: /generate discovery iso/i }).last().click();
  await modal.getByText(/Discovery ISO URL/i).first().waitFor();
  await modal.getByRole('button', { name: 'Close' }).last().click();
  await page.locator('button[name=install]:not([disabled]):not([aria-disabled=true])').waitFor({ timeout: 90_000 });
  await own(page, 'the second day');
  await picture('second-day');
  await install.click();
  await page.getByText('Installed', { exact: true }).nth(3).waitFor({ timeout: 180_000 });
  await hosts.ended;

  // Another cluster: its installation is aborted, it goes back to the wizard, and away.
  const other = await service.cluster('other');
  const others = service.simulate(other, ['--hosts-only', '--speed', '60']);
  await page.goto(`${service.url}/clusters/${other.cluster}`);
  await page.getByText('Ready', { exact: true }).nth(2).waitFor({ timeout: 90_000 });
  await service.ask(`/v2/clusters/${other.cluster}`, {
    method: 'PATCH', body: { api_vips: [{ ip: `${base}.50` }], ingress_vips: [{ ip: `${base}.51` }] },
  });
  await service.install(other.cluster);
  await page.getByTestId('cluster-installation-abort-button').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Abort installation' }).click();
  await page.locator('#button-reset-cluster').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click();
  await page.locator('button[name=next]').waitFor();
  await others.kill();
  await page.goto(service.url);
  const row = page.getByTestId('cluster-row-other');
  await page.getByTestId('cluster-row-demo').waitFor();
  await row.waitFor();
  await picture('clusters');
  await row.getByRole('button').last().click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByTestId('delete-cluster-submit').click();
  await row.waitFor({ state: 'detached' });
  await page.getByTestId('cluster-row-demo').waitFor();
  assert.deepEqual((await service.ask('/v2/clusters')).map((/** @type {{ name: string }} */ { name }) => name), ['demo']);
});
