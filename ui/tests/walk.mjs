// @ts-check
// A person with a browser and simulated machines: from an empty list by the wizard to an installed cluster, and one host more.

import assert from 'node:assert/strict';
import { PULL_SECRET } from './lib/service.mjs';
import { run } from './lib/browser.mjs';

/** Has an entry that no release asks for. */
const OTHER_SECRET = JSON.stringify({ auths: { 'registry.example.com': { auth: 'dXNlcjpwYXNz' } } });

await run(async ({ service, page, expectError, picture }) => {
  /** @param {string} name */
  const field = (name) => page.locator(`input#form-input-${name}-field, textarea#form-input-${name}-field`);
  const next = async () => {
    const button = page.locator('button[name=next]');
    // The forms keep what was typed a moment later.
    await page.locator('button[name=next]:not([disabled]):not([aria-disabled=true])').waitFor();
    await button.click();
  };

  await page.goto(service.url);
  await page.getByRole('link', { name: /create/i }).or(page.getByRole('button', { name: /create/i })).first().click();
  await field('name').fill('demo');
  await field('baseDnsDomain').fill('example.com');
  await picture('wizard');

  // A pull secret that opens nothing is refused with the reason, and the form stays.
  expectError(/^400 .*\/v2\/clusters\/?$/);
  await field('pullSecret').fill(OTHER_SECRET);
  await next();
  await page.getByText(/pull secret/i).and(page.locator('.pf-v6-c-alert *')).first().waitFor();
  await field('pullSecret').fill(PULL_SECRET);
  await next();
  await page.waitForURL(/\/clusters\/[0-9a-f-]{36}/);
  const cluster = /clusters\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
  const [infraEnv] = await service.ask(`/v2/infra-envs?cluster_id=${cluster}`);

  // Operators, then hosts.
  await next();
  await page.getByRole('button', { name: 'Add hosts' }).first().click();
  await page.getByRole('button', { name: /generate discovery iso/i }).last().click();
  await page.getByText(/Discovery ISO URL/i).first().waitFor();
  await page.getByRole('button', { name: 'Close' }).last().click();
  const ids = { cluster, infraEnv: infraEnv.id };
  const hosts = service.simulate(ids, ['--hosts-only', '--speed', '60']);
  await page.getByText('Ready', { exact: true }).nth(2).waitFor({ timeout: 90_000 });
  await picture('discovery');
  await next();

  // Storage, then networking.
  await next();
  await field('apiVips-0-ip').waitFor();
  const { host_networks } = await service.ask(`/v2/clusters/${cluster}`);
  const base = host_networks[0].cidr.split('.').slice(0, 3).join('.');
  // Beyond the hosts, and within a network of 64 addresses.
  await field('apiVips-0-ip').fill(`${base}.50`);
  await field('ingressVips-0-ip').fill(`${base}.51`);
  await next();

  // Review and install.
  await page.locator('button[name=install]:not([disabled])').waitFor({ timeout: 90_000 });
  await page.locator('button[name=install]').click();
  await page.getByText(/Installation in progress|Preparing|Installing/i).first().waitFor();
  await page.getByRole('link', { name: /^Live view/ }).click();
  await page.getByRole('heading', { name: 'demo installed' }).waitFor({ timeout: 180_000 });
  await hosts.ended;
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText(/Installation completed successfully/i).first().waitFor({ timeout: 60_000 });
  const download = page.waitForEvent('download');
  await page.locator('#cluster-detail-button-download-kubeconfig').click();
  assert.match((await download).suggestedFilename(), /^kubeconfig/);
  await picture('installed');

  // The second day.
  await page.locator('#cluster-detail-button-add-hosts').click();
  await page.getByRole('button', { name: 'Add hosts' }).first().waitFor({ timeout: 60_000 });
  const { status } = await service.ask(`/v2/clusters/${cluster}`);
  assert.equal(status, 'adding-hosts');
});
