// @ts-check
// The live pages: an installation that is cancelled, and reset, and one from discovery to its end, followed without a reload; logs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dialog } from './lib/access.mjs';
import { run } from './lib/browser.mjs';

await run(async ({ service, page, expectError, picture }) => {
  await page.goto(`${service.url}/live`);
  await page.getByText('There are no clusters').waitFor();

  const ids = await service.cluster('demo');
  await page.goto(`${service.url}/live/${ids.cluster}`);
  await page.getByRole('heading', { name: 'demo' }).waitFor();
  await page.getByText('The installation has not begun').waitFor();
  // What keeps it from that: what fails comes first, with what was measured, what is required, and what to do.
  await page.getByRole('tab', { name: 'Validations' }).click();
  await page.getByText(/^Cluster: [1-9]\d* failing, [1-9]\d* pending$/).waitFor();
  const findings = page.getByRole('grid', { name: 'Validations: Cluster' });
  const cells = (/** @type {import('playwright-core').Locator} */ of, /** @type {string} */ column) =>
    of.locator(`td[data-label="${column}"]`).allInnerTexts();
  const states = await cells(findings, 'State');
  assert.deepEqual([states.at(0), states.at(-1)], ['failure', 'pending']);
  assert.deepEqual(states, [...states].sort());
  const vips = findings.getByRole('row').filter({ has: page.getByRole('link', { name: 'api-vips-defined' }) });
  const facts = await Promise.all(['State', 'Measured', 'Required', 'What to do'].map((column) => cells(vips, column)));
  const remedy = "Choose free addresses in the machine network, and set them as the cluster's virtual IPs.";
  assert.deepEqual(facts.flat(), ['failure', 'none', 'one, or two for dual stack', remedy]);
  await page.getByRole('tab', { name: 'Hosts' }).click();
  await page.getByText('There are no hosts yet').waitFor();

  // Hosts appear by themselves.
  const discovered = service.simulate(ids, ['--speed', '60', '--until', 'ready']);
  const hosts = page.getByRole('grid', { name: 'Hosts', exact: true });
  await hosts.getByRole('row').nth(3).waitFor();
  await discovered.ended;
  await page.getByRole('tab', { name: 'Validations' }).click();
  await page.getByText('Cluster: all is well').waitFor();
  await page.getByLabel('Show what is well, too').check({ force: true });
  await page.getByText('(has-min-memory)').first().waitFor();
  // Each leads to the page that explains it, at the service itself.
  const explained = await page.getByRole('link', { name: 'has-min-memory' }).first().getAttribute('href');
  assert.equal(explained, '/docs/troubleshooting#has-min-memory');
  const told = await fetch(service.url + explained);
  assert.ok((await told.text()).includes('id="has-min-memory"'));
  await picture('validations');

  await page.getByRole('tab', { name: 'Hosts' }).click();
  await hosts.getByText('GiB').first().waitFor();
  await hosts.getByRole('button').first().click();
  await page.getByRole('grid', { name: /^Disks of/ }).waitFor();
  const map = page.getByRole('grid', { name: 'Who reaches whom' });
  await map.getByText('✓').first().waitFor();
  await hosts.getByRole('button').first().click();

  const press = async (/** @type {string} */ button, /** @type {string} */ question) => {
    await page.getByRole('button', { name: button, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(question).waitFor();
    await dialog.getByRole('button', { name: 'Yes' }).click();
    await dialog.waitFor({ state: 'detached' });
  };

  // One that is cancelled, and forgotten.
  const interrupted = service.simulate(ids, ['--hosts-only', '--speed', '60']);
  await page.getByRole('tab', { name: 'Stages' }).click();
  await page.waitForTimeout(1500);
  await service.install(ids.cluster);
  await page.getByRole('heading', { name: 'demo installing' }).waitFor();
  await press('Cancel installation', 'Cancel the installation?');
  await page.getByRole('heading', { name: 'demo cancelled' }).waitFor();
  // What is asked before something is lost is asked by the keyboard, too.
  await dialog(page, page.getByRole('button', { name: 'Reset', exact: true }));
  assert.equal(await page.getByRole('button', { name: 'Cancel installation' }).count(), 0);
  await interrupted.kill();
  await press('Reset', 'Reset the cluster?');
  await page.getByRole('heading', { name: 'demo insufficient' }).waitFor();

  // One that goes to its end.
  const installing = service.simulate(ids, ['--hosts-only', '--speed', '60']);
  await page.getByRole('heading', { name: 'demo ready' }).waitFor();
  await service.install(ids.cluster);
  await page.getByRole('button', { name: 'Cancel installation' }).waitFor();
  // A page on a busy machine may show it when it is over already: where the minutes went.
  await page.getByText('Writing image to disk').first().waitFor({ state: 'attached' });
  await page.getByRole('heading', { name: 'demo installed' }).waitFor({ timeout: 120_000 });
  await installing.ended;
  await page.getByRole('heading', { name: /in all$/ }).waitFor();
  const lines = page.getByRole('grid', { name: 'Stages with their times' });
  assert.equal(await lines.getByRole('row').count(), 5);
  await lines.getByRole('button', { name: 'Where the minutes went' }).first().click();
  await lines.getByText(/^Finalizing: |^Waiting for cluster operators: /).first().waitFor();
  await picture('stages');
  // Where the service keeps the domain, the names that it has made are told.
  const { dns_records: records = [] } = await service.ask(`/v2/clusters/${ids.cluster}`);
  assert.equal(records.length, process.env.BASE_DNS_DOMAINS ? 2 : 0);
  for (const { name, type, address } of records) await page.getByText(`${name} ${type} ${address}`).waitFor();

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save kubeconfig' }).click();
  assert.equal((await download).suggestedFilename(), 'kubeconfig');

  // The logs of each host, which it has sent before it booted from its disk.
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save logs' }).click();
  const logs = await saved;
  assert.equal(logs.suggestedFilename(), `demo_${ids.cluster}.tar`);
  const names = execFileSync('tar', ['-tf', await logs.path()], { encoding: 'utf8' }).split('\n');
  assert.equal(names.filter((name) => /^demo_(bootstrap|master)_.+\.tar$/.test(name)).length, 3, names.join(', '));

  await page.getByRole('tab', { name: 'Events' }).click();
  const events = page.getByRole('grid', { name: 'Events' });
  await events.getByText('Successfully completed installing cluster').waitFor();
  await page.getByLabel('Words in the message').fill('Writing image to disk');
  await page.getByText(/^\d+ of \d+ events$/).waitFor();
  assert.equal(await events.getByText('Successfully completed').count(), 0);
  await picture('events');
  // Of a host there is what befell it, and nothing of the cluster; of warnings no plain news.
  const filter = (/** @type {string} */ name) => page.getByRole('combobox', { name, exact: true });
  await page.getByLabel('Words in the message').fill('');
  await events.getByText('Successfully completed').first().waitFor();
  await filter('Host').selectOption({ index: 1 });
  await events.getByText('Successfully completed').first().waitFor({ state: 'detached' });
  await events.getByRole('row').nth(1).waitFor();
  await filter('Host').selectOption('');
  await filter('Severity').selectOption('warning');
  await events.getByText('info', { exact: true }).first().waitFor({ state: 'detached' });

  // An address of a page is good by itself, also for a cluster that is gone.
  expectError(/^404 .*\/v2\/(watch|clusters|events)/);
  await page.goto(`${service.url}/live/00000000-0000-4000-8000-000000000000`);
  await page.getByText('There is no such cluster').waitFor();
});
