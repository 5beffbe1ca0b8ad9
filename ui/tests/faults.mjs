// @ts-check
// The service goes away and comes back: pages tell it, keep what they know, and go on by themselves.

import { run } from './lib/browser.mjs';

await run(async ({ service, page, expectError }) => {
  const ids = await service.cluster('demo');
  await page.goto(`${service.url}/live/${ids.cluster}`);
  await page.getByRole('heading', { name: 'demo' }).waitFor();

  await service.kill();
  await page.getByText('this is what was known last').waitFor();
  await page.getByRole('heading', { name: 'demo' }).waitFor();
  await service.begin();
  await page.getByText('this is what was known last').waitFor({ state: 'detached' });
  const discovered = service.simulate(ids, ['--speed', '120', '--until', 'ready']);
  await page.getByRole('tab', { name: 'Hosts' }).click();
  await page.getByRole('grid', { name: 'Hosts', exact: true }).getByRole('row').nth(3).waitFor();
  await discovered.ended;

  // What can't be done is told where it was asked for.
  await service.kill();
  await page.getByRole('button', { name: 'Save logs' }).click();
  await page.locator('.pf-v6-c-alert.pf-m-danger').first().waitFor();
  await service.begin();

  // A page that is opened while the service is away tells it, too, and a button asks again.
  await page.goto(`${service.url}/live`);
  await page.getByRole('link', { name: 'demo' }).waitFor();
  await service.kill();
  await page.getByText('The service can not be reached').waitFor();
  await service.begin();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The service can not be reached').waitFor({ state: 'detached' });

  // Somebody deletes the cluster that is looked at.
  await page.getByRole('link', { name: 'demo' }).click();
  await page.getByRole('heading', { name: 'demo' }).waitFor();
  expectError(/^404 /);
  const { hosts } = await service.ask(`/v2/clusters/${ids.cluster}`);
  for (const host of hosts) await service.ask(`/v2/infra-envs/${ids.infraEnv}/hosts/${host.id}`, { method: 'DELETE' });
  await service.ask(`/v2/infra-envs/${ids.infraEnv}`, { method: 'DELETE' });
  await service.ask(`/v2/clusters/${ids.cluster}`, { method: 'DELETE' });
  await page.getByText('There is no such cluster').waitFor();
});
