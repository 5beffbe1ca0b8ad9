// @ts-check
// An image whose base is on its way: progress, what is wrong with it, and a download that begins by itself; never an error page of the
// browser's.

import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { run } from './lib/browser.mjs';
import { PULL_SECRET } from './lib/service.mjs';

/** What a server of base images gives out: so slowly that somebody can watch. */
const LENGTH = 64 << 20;

const origin = createServer((request, response) => {
  response.writeHead(200, { 'Content-Length': LENGTH });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const piece = Buffer.alloc(1 << 20);
  let left = LENGTH / piece.length;
  const timer = setInterval(() => {
    response.write(piece);
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    response.end();
  }, 100);
  response.once('close', () => clearInterval(timer));
});
await new Promise((resolve) => origin.listen(0, '127.0.0.1', () => resolve(undefined)));
const address = origin.address();
if (address === null || typeof address === 'string') throw new Error('no port');

const { BASE_IMAGE = '' } = process.env;
const image = { cpu_architecture: 'x86_64' };
const images = [
  { ...image, openshift_version: '4.20', version: '420.1', url: `http://127.0.0.1:${address.port}/live.iso` },
  { ...image, openshift_version: '4.19', version: '419.1', url: `file://${BASE_IMAGE}` },
];

// The agent comes as a container image: then no program for hosts has to be built.
/** @type {Record<string, string>} */
const env = { OS_IMAGES: JSON.stringify(images), SERVICE_BASE_URL: 'http://127.0.0.1:8090', AGENT_DELIVERY: 'image' };

/** @type {string[]} */
const allowedOrigins = [];

await run(
  async ({ service, page, picture }) => {
    await page.goto(`${service.url}/images`);
    await page.getByText('There are no images').waitFor();
    await service.cluster('demo');
    await page.reload();
    await page.getByText('not asked for yet').waitFor();
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByText(/MiB of 64\.0 MiB/).waitFor();
    const onItsWay = page.getByText('The base image is on its way; the download begins by itself');
    await onItsWay.waitFor();
    await picture('images');
    // It is no image: the image service says so once it has it, and when it tries again.
    await page.getByText(/can't be fetched: failed to validate boot artifacts: .+; it is tried again in \d+ s/).waitFor();
    await page.getByText("The base image can't be fetched yet; the download begins once it can").waitFor();
    assert.equal(await onItsWay.count(), 0);
    assert.equal(new URL(page.url()).pathname, '/images');
    await page.getByRole('button', { name: 'Do not wait' }).click();
    await page.getByRole('button', { name: 'Download' }).waitFor();

    // One that is: the page waits until the image service has read it, and the download begins by itself, with all of the image.
    const { id } = await service.ask('/v2/infra-envs', {
      method: 'POST', body: { name: 'rack', pull_secret: PULL_SECRET, openshift_version: '4.19' },
    });
    const { url } = await service.ask(`/v2/infra-envs/${id}/downloads/image-url`);
    allowedOrigins.push(new URL(url).origin);
    await page.reload();
    const row = page.getByRole('row').filter({ hasText: 'rack' });
    const download = page.waitForEvent('download');
    await row.getByRole('button', { name: 'Download' }).click();
    const file = await download;
    assert.equal(file.suggestedFilename(), `${id}-discovery.iso`);
    assert.equal((await stat(await file.path())).size, (await stat(BASE_IMAGE)).size);
    await row.getByText('ready', { exact: true }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/images');

    // Where a setting is missing, waiting does not help: the page says which one, and leads to what to do.
    await service.kill();
    delete env.SERVICE_BASE_URL;
    await service.begin();
    await page.goto(`${service.url}/images`);
    await row.getByRole('button', { name: 'Download' }).click();
    await row.getByText(/503 Service Unavailable: SERVICE_BASE_URL is not set/).waitFor();
    await row.getByRole('button', { name: 'Download' }).waitFor();
    const help = row.getByRole('link', { name: 'What to do' });
    assert.equal(await help.getAttribute('href'), '/docs/errors#image-service');
    assert.equal(new URL(page.url()).pathname, '/images');
  },
  { env, allowedOrigins },
).finally(() => origin.close());
