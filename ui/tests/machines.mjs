// @ts-check
// Machines by their management controllers: one is made known, switched, forgotten, and told to boot an image that is there, then one that
// is not there yet.

import assert from 'node:assert/strict';
import { axe, walk } from './lib/access.mjs';
import { run } from './lib/browser.mjs';
import { PULL_SECRET } from './lib/service.mjs';

const { BASE_IMAGE = '', BMC_SYSTEM = '', BMC_USER = '', BMC_PASSWORD = '' } = process.env;

/** Nobody listens there. */
const AWAY = 'http://127.0.0.1:9/live.iso';

const image = { cpu_architecture: 'x86_64' };
const images = [
  { ...image, openshift_version: '4.20', version: '420.1', url: `file://${BASE_IMAGE}` },
  { ...image, openshift_version: '4.19', version: '419.1', url: AWAY },
];

// The agent comes as a container image: then no program for hosts has to be built.
const env = { OS_IMAGES: JSON.stringify(images), SERVICE_BASE_URL: 'http://127.0.0.1:8090', AGENT_DELIVERY: 'image' };

await run(async ({ service, page, expectError, picture }) => {
  await service.cluster('demo');
  await service.ask('/v2/infra-envs', { method: 'POST', body: { name: 'later', pull_secret: PULL_SECRET, openshift_version: '4.19' } });
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

  // The image is there: the machine starts from it.
  const chosen = page.getByLabel('Image for first');
  await chosen.selectOption({ label: 'demo_infra-env' });
  await page.getByRole('button', { name: 'Boot the image on first' }).click();
  await machines.getByText(/^Boot the image, .*: done/).waitFor({ timeout: 120_000 });
  await machines.getByText('On', { exact: true }).waitFor();

  // Another one can't be had yet: what is waited for stands beside the machine, which is left as it is.
  await chosen.selectOption({ label: 'later' });
  await page.getByRole('button', { name: 'Boot the image on first' }).click();
  await machines.getByText(/^Boot the image, .*: running, .*can't be fetched: .+/).first().waitFor({ timeout: 120_000 });
  await machines.getByText('On', { exact: true }).waitFor();

  const { body } = await page.evaluate(async () => ({ body: await (await fetch('/api/assisted-install/v2/machines')).text() }));
  assert.ok(body.includes('first') && !body.includes(BMC_PASSWORD), body);

  // The page that is linked is there, with the section.
  await page.goto(`${service.url}/docs/errors#management-controller`);
  await page.locator('#management-controller').waitFor();
}, { env });
