// @ts-check
// An image whose base is on its way: progress, and a download that begins by itself; never an error page of the browser's.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { run } from './lib/browser.mjs';

/** What a server of base images gives out: so slowly that somebody can watch. */
const LENGTH = 64 << 20;

const origin = createServer((request, response) => {
  response.writeHead(200, { 'Content-Length': LENGTH });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const piece = Buffer.alloc(1 << 20);
  const timer = setInterval(() => response.write(piece), 100);
  response.once('close', () => clearInterval(timer));
});
await new Promise((resolve) => origin.listen(0, '127.0.0.1', () => resolve(undefined)));
const address = origin.address();
if (address === null || typeof address === 'string') throw new Error('no port');

const images = [
  { openshift_version: '4.20', cpu_architecture: 'x86_64', version: '420.1', url: `http://127.0.0.1:${address.port}/live.iso` },
];

await run(
  async ({ service, page, picture }) => {
    await page.goto(`${service.url}/images`);
    await page.getByText('There are no images').waitFor();
    await service.cluster('demo');
    await page.reload();
    await page.getByText('not asked for yet').waitFor();
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByText(/MiB of 64\.0 MiB/).waitFor();
    await picture('images');
    // It is no image: the image service says so once it has it, and the page goes on to show its words.
    assert.equal(new URL(page.url()).pathname, '/images');
    await page.getByRole('button', { name: 'Do not wait' }).click();
    await page.getByRole('button', { name: 'Download' }).waitFor();
  },
  { env: { OS_IMAGES: JSON.stringify(images) } },
).finally(() => origin.close());
