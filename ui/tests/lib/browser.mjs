// @ts-check
// A page in headless Chromium that fails its test on what a person would not see: errors of scripts, requests to other origins,
// answers that are errors.

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { Service } from './service.mjs';

/** Folders of pictures are named from here on. */
const CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url));

/** How long something may take to appear. */
const LIMIT_MS = 60_000;

/** A page is settled when nothing that it asked for was under way for so long. */
const QUIET_MS = 500;

/**
 * @typedef {object} Stage
 * @property {Service} service
 * @property {import('playwright-core').Page} page
 * @property {import('playwright-core').BrowserContext} context
 * @property {(pattern: RegExp) => void} expectError Allows answers that are errors: `STATUS PATH`
 * @property {() => Promise<void>} settled Waits until the page has what it asked for
 * @property {(name: string) => Promise<void>} picture Takes a picture for the documentation, if one is wanted
 */

/**
 * Runs a scenario in a new browser, against a new service, or one that runs already.
 * @param {(stage: Stage) => Promise<void>} scenario
 * @param {{ listen?: string, env?: Record<string, string>, allowedOrigins?: string[], running?: Service }} options
 */
export async function run(scenario, { listen, env = {}, allowedOrigins = [], running } = {}) {
  const service = running ?? (await Service.start(env, listen));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell' });
  try {
    const context = await browser.newContext({
      viewport: { width: 1500, height: 950 },
      acceptDownloads: true,
      reducedMotion: 'reduce',
      // Of an authority that no browser knows.
      ignoreHTTPSErrors: running !== undefined,
    });
    context.setDefaultTimeout(LIMIT_MS);
    const page = await context.newPage();
    /** @type {string[]} */
    const wrong = [];
    // Where nobody logs in, there is nothing below `auth`.
    /** @type {RegExp[]} */
    const expected = [/^404 .*\/auth\/methods$/];
    page.on('pageerror', (error) => wrong.push(`error in the page: ${error.stack ?? error.message}`));
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) wrong.push(message.text());
    });
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      const isOwn = origin === new URL(service.url).origin || ['data:', 'blob:'].includes(protocol);
      if (!isOwn && !allowedOrigins.includes(origin)) wrong.push(`a request to another origin: ${request.url()}`);
    });
    const settled = settling(page);
    page.on('response', (response) => {
      const told = `${response.status()} ${new URL(response.url()).pathname}`;
      if (response.status() >= 400 && !expected.some((pattern) => pattern.test(told))) wrong.push(`an answer: ${told}`);
    });
    const picture = async (/** @type {string} */ name) => {
      if (!process.env.ASSISTED_UI_PICTURES) return;
      const folder = resolve(CHECKOUT, process.env.ASSISTED_UI_PICTURES);
      await mkdir(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
    };
    try {
      await scenario({ service, page, context, expectError: (pattern) => void expected.push(pattern), settled, picture });
    } catch (error) {
      console.error(`at ${page.url()}:\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 3000)}`);
      if (wrong.length > 0) console.error(wrong.join('\n'));
      throw error;
    }
    assert.deepEqual(wrong, []);
  } finally {
    await browser.close();
    await service.end();
  }
}

/**
 * Waits until a page has what it asked for. The browser's own idea of that counts streams of events, which end with their page.
 * @param {import('playwright-core').Page} page
 */
function settling(page) {
  /** @type {Set<import('playwright-core').Request>} */
  const open = new Set();
  let last = Date.now();
  page.on('request', (request) => {
    // What a page before it asked for is of no interest.
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) open.clear();
    if (request.resourceType() !== 'eventsource') open.add(request);
  });
  const ended = (/** @type {import('playwright-core').Request} */ request) => {
    if (open.delete(request)) last = Date.now();
  };
  page.on('requestfinished', ended);
  page.on('requestfailed', ended);
  return async () => {
    const begun = Date.now();
    while (open.size > 0 || Date.now() - Math.max(last, begun) < QUIET_MS) {
      const waitedFor = [...open].map((request) => request.url()).join(', ');
      assert.ok(Date.now() - begun < LIMIT_MS, `the page goes on asking: ${waitedFor}`);
      await page.waitForTimeout(50);
    }
  };
}
