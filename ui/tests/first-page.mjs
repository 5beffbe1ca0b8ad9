// @ts-check
// `cargo xtask bench ui`: how long the list of clusters takes in a browser that knows nothing yet, and in the same one again. Each time it
// is another browser and another service. What it measures is told, and not judged.

import { parseArgs } from 'node:util';
import { run } from './lib/browser.mjs';

/**
 * Milliseconds from the beginning of the navigation until something is painted and until the cluster is in the list, and what came over
 * the wire until the page is quiet, heads of answers included.
 * @typedef {{ painted: number, listed: number, bytes: number }} Visit
 */

/**
 * Opens the address of a service that has a cluster.
 * @param {import('./lib/browser.mjs').Stage} stage
 * @returns {Promise<Visit>}
 */
async function visit({ service, page, context, settled }) {
  const session = await context.newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await session.send('Network.enable');
  await page.goto(service.url);
  await page.getByTestId('cluster-row-demo').waitFor();
  const times = await page.evaluate(() => ({
    painted: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
    listed: performance.now(),
  }));
  await settled();
  await session.detach();
  return { ...times, bytes };
}

/** @param {string} name @param {Visit[]} visits */
function line(name, visits) {
  const figures = visits.flatMap(({ painted, listed, bytes }) => [painted, listed, bytes / 1000]);
  return `| ${[name, ...figures.map((figure) => figure.toFixed(0))].join(' | ')} |`;
}

/** @param {number[]} figures */
function median(figures) {
  return [...figures].sort((one, other) => one - other)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

const { values } = parseArgs({ options: { runs: { type: 'string', default: '5' } } });
const wanted = Number(values.runs);
if (!(wanted > 0)) throw new Error('--runs is a number of runs');

/** @type {Visit[]} */
const cold = [];
/** @type {Visit[]} */
const warm = [];
while (cold.length < wanted) {
  await run(async (stage) => {
    await stage.service.cluster('demo');
    cold.push(await visit(stage));
    await stage.page.goto('about:blank');
    warm.push(await visit(stage));
  });
}

console.log('| run | cold: painted, ms | listed, ms | kB | warm: painted, ms | listed, ms | kB |');
console.log('|---|---|---|---|---|---|---|');
cold.forEach((one, index) => console.log(line(`${index + 1}`, [one, ...warm.slice(index, index + 1)])));
const middle = (/** @type {Visit[]} */ visits) => ({
  painted: median(visits.map(({ painted }) => painted)),
  listed: median(visits.map(({ listed }) => listed)),
  bytes: median(visits.map(({ bytes }) => bytes)),
});
console.log(line('median', [middle(cold), middle(warm)]));
