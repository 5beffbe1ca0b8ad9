// @ts-check
// Machines by their management controllers: one is made known, switched, told to boot an image that is not there yet, and forgotten.

import assert from 'node:assert/strict';
import { axe, walk } from './lib/access.mjs';
import { run } from './lib/browser.mjs';

const { BMC_SYSTEM = '', BMC_USER = '', BMC_PASSWORD = '' } = process.env;

await run(async ({ service, page, expectError, picture }) => {
  await service.cluster('demo');
  await page.goto(`${service.url}/machines`);
  await page.getByText('There are no machines').waitFor();
  await page.getByRole('button', { name: 'Add a machine' }).click();
  await page.getByLabel('Name').fill('first');
  await page.getByLabel('Address of the system').fill(BMC_SYSTEM);
  await page.getByLabel('Account').fill(BMC_USER);
  await page.getByLabel('Password').fill('guess');

  await axe(page, 'the form');

  // What a controller says is told, with a link to what can be done.
  expectError(/^422 .*\/v2\/machines$/);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const help = page.getByRole('link', { name: 'What to do' });
  await help.waitFor();
  assert.equal(await help.getAttribute('href'), '/docs/errors#management-controller');
  await page.getByLabel('Password').fill(BMC_PASSWORD);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const machines = page.getByRole('grid', { name: 'Machines' });
  await machines.getByText('Off', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'Switch on first' }).click();
  await machines.getByText('On', { exact: true }).waitFor();
  await machines.getByText(/^Switch on, .*: done/).waitFor();
  await axe(page, 'machines');
  await walk(page, 'machines');
  await picture('machines');

  // What is forgotten can be made known again.
  await page.getByRole('button', { name: 'Forget first' }).click();
  await page.getByText('There are no machines').waitFor();
  await page.getByRole('button', { name: 'Add a machine' }).click();
  await page.getByLabel('Name').fill('first');
  await page.getByLabel('Address of the system').fill(BMC_SYSTEM);
  await page.getByLabel('Account').fill(BMC_USER);
  await page.getByLabel('Password').fill(BMC_PASSWORD);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await machines.getByText('On', { exact: true }).waitFor();

  // The image can't be had here yet: what is waited for stands beside the machine, which is left as it is.
  await page.getByRole('button', { name: 'Boot the image on first' }).click();
  await machines.getByText(/^Boot the image, .*: running, .*can't be fetched: .+/).first().waitFor({ timeout: 120_000 });
  await machines.getByText('On', { exact: true }).waitFor();

  const { body } = await page.evaluate(async () => ({ body: await (await fetch('/api/assisted-install/v2/machines')).text() }));
  assert.ok(body.includes('first') && !body.includes(BMC_PASSWORD), body);

  // The page that is linked is there, with the section.
  await page.goto(`${service.url}/docs/errors#management-controller`);
  await page.locator('#management-controller').waitFor();
});
