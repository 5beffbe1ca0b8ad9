// @ts-check
// Whether a page is for everybody: what axe-core finds, whether each control and dialog is of use by the keyboard, whether it fits a narrow
// screen, and whether it does without hosted services.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const AXE = await readFile(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

const HOSTED = /redhat\.(com|io)|openshift\.com|intersight|Red Hat account|Customer Portal|Assisted Installer|Cluster Manager/i;

/**
 * No words of a page name a hosted service, and no link leads beyond this one, its images, and the clusters that it installs.
 * @param {import('playwright-core').Page} page
 * @param {string} about
 */
export async function own(page, about) {
  const text = await page.locator('body').innerText();
  assert.ok(!HOSTED.test(text), `${about}: ${HOSTED.exec(text)?.[0]}`);
  const links = await page.locator('a[href]').evaluateAll((all) => all.map((link) => /** @type {HTMLAnchorElement} */ (link).href));
  const isOwn = (/** @type {URL} */ { hostname }) => hostname === new URL(page.url()).hostname || hostname.endsWith('.example.com');
  assert.deepEqual(links.filter((link) => link.startsWith('http') && !isOwn(new URL(link))), [], about);
}

/**
 * Waits until nothing on a page changes its colour or place any more: in between, a button that has just become usable has too little
 * contrast. What never ends, as what says that something is loading, is not waited for.
 * @param {import('playwright-core').Page} page
 * @param {string} about
 */
async function still(page, about) {
  const moves = () => {
    const finite = document.getAnimations().filter((one) => Number.isFinite(Number(one.effect?.getComputedTiming().endTime)));
    return finite.filter((one) => one.playState === 'running').map((one) => /** @type {any} */ (one).transitionProperty ?? one.id);
  };
  const limit = 10_000;
  let moving = await page.evaluate(moves);
  for (const until = Date.now() + limit; moving.length > 0; moving = await page.evaluate(moves)) {
    assert.ok(Date.now() < until, `${about}: still moves after ${limit / 1000} s: ${moving}`);
    await page.waitForTimeout(50);
  }
}

/**
 * What axe finds on a page that keeps somebody out.
 * @param {import('playwright-core').Page} page
 * @param {string} about
 */
export async function axe(page, about) {
  // As a debugger would: the policy of the page lets no script in.
  await page.evaluate(AXE);
  await still(page, about);
  const found = await page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] });
    return violations
      .filter((/** @type {any} */ one) => ['serious', 'critical'].includes(one.impact))
      .map((/** @type {any} */ one) => `${one.id}: ${one.help}: ${one.nodes.map((/** @type {any} */ node) => node.html).join(' | ').slice(0, 400)}`);
  });
  assert.deepEqual(found, [], about);
}

/**
 * Walks a page by the tabulator key until it comes round: each control is reached, shown, and left.
 * @param {import('playwright-core').Page} page
 * @param {string} about
 */
export async function walk(page, about) {
  await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement)?.blur());
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea')];
    const visible = all.filter((one) => {
      const control = /** @type {HTMLButtonElement} */ (one);
      return control.offsetParent !== null && !control.disabled && control.tabIndex >= 0 && control.getAttribute('aria-hidden') !== 'true';
    });
    visible.forEach((one, index) => one.setAttribute('data-walk', `${index}`));
    return visible.length;
  });
  const reached = new Set();
  for (let step = 0; step < 2 * wanted + 10; step++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => document.activeElement?.getAttribute('data-walk') ?? null);
    if (at !== null) reached.add(at);
    if (reached.size === wanted) break;
  }
  assert.equal(reached.size, wanted, `${about}: not all controls are reached by the keyboard`);
}

/**
 * Opens a dialog and closes it by the keyboard alone: the focus goes into it, stays there, and is back at the button afterwards.
 * @param {import('playwright-core').Page} page
 * @param {import('playwright-core').Locator} button
 */
export async function dialog(page, button) {
  await button.focus();
  await page.keyboard.press('Enter');
  const box = page.getByRole('dialog');
  const within = box.locator(':focus');
  await within.waitFor();
  const controls = await box.locator('button, input').count();
  for (let step = 0; step <= controls; step++) {
    await page.keyboard.press('Tab');
    assert.equal(await within.count(), 1, 'the focus leaves the dialog');
  }
  await page.keyboard.press('Escape');
  await box.waitFor({ state: 'detached' });
  await button.and(page.locator(':focus')).waitFor();
}

/**
 * Nothing of a page is cut off at its side: what is wider than the screen scrolls in itself.
 * @param {import('playwright-core').Page} page
 * @param {string} about
 */
export async function fits(page, about) {
  const beyond = await page.evaluate(() => {
    // The content scrolls down in a part of the page, which cuts off what is too wide.
    const parts = [document.documentElement, ...document.querySelectorAll('.pf-v6-c-page__main-container')];
    if (parts.every((part) => part.scrollWidth <= part.clientWidth + 1)) return null;
    const wide = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > window.innerWidth + 1);
    return wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 200));
  });
  assert.equal(beyond, null, `${about} is too wide: ${beyond?.join(' | ')}`);
}
