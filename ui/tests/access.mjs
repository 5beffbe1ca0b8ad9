// @ts-check
// Dark, narrow, by the keyboard and by a screen reader; no page has words or links of a hosted service.

import assert from 'node:assert/strict';
import { axe, dialog, fits, own, walk } from './lib/access.mjs';
import { run } from './lib/browser.mjs';
import { Wizard } from './lib/wizard.mjs';

await run(async ({ service, page, settled, picture }) => {
  const ids = await service.cluster('demo');
  const discovered = service.simulate(ids, ['--speed', '120', '--until', 'ready']);
  await discovered.ended;
  // How long the first page takes in a browser that knows nothing yet: told, and not judged.
  const began = Date.now();
  await page.goto(`${service.url}/live`);
  await page.getByRole('link', { name: 'demo' }).waitFor();
  const transferred = await page.evaluate(() =>
    performance.getEntriesByType('resource').reduce((sum, one) => sum + /** @type {PerformanceResourceTiming} */ (one).transferSize, 0),
  );
  console.log(`first page: ${((Date.now() - began) / 1000).toFixed(2)} s to its rows, ${(transferred / 1e6).toFixed(2)} MB transferred`);

  const pages = ['/clusters', '/clusters/~new', `/clusters/${ids.cluster}`, '/live', `/live/${ids.cluster}`, '/images', '/machines', '/help'];
  for (const path of pages) {
    await page.goto(service.url + path);
    await page.getByRole('heading').first().waitFor();
    await settled();
    await own(page, path);
    assert.equal(await page.getByRole('main').count(), 1, path);
    assert.equal(await page.getByRole('navigation', { name: 'Pages' }).count(), 1, path);
  }

  // What the library shows of an image, and where hosts are missed, holds here, too.
  const fresh = await service.cluster('fresh');
  await page.goto(`${service.url}/clusters/${fresh.cluster}`);
  const wizard = new Wizard(page);
  await wizard.troubleshooting();
  await wizard.image();

  // Own pages have a name for each control, one heading of the first level, and are reached by the keyboard.
  const views = ['', '/hosts', '/validations', '/events'].map((tab) => `/live/${ids.cluster}${tab}`);
  const ours = [...views, '/live', '/images', '/machines', '/help'];
  for (const path of ours) {
    await page.goto(service.url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, path);
    const nameless = await page.locator('button, a[href], input, select, textarea').evaluateAll((all) =>
      all
        .filter((one) => {
          const control = /** @type {HTMLInputElement} */ (one);
          const labels = [...(control.labels ?? [])].map((label) => label.textContent ?? '').join('');
          const by = control.getAttribute('aria-labelledby')?.split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join('');
          return !(control.getAttribute('aria-label') || by || labels || control.textContent?.trim() || control.title);
        })
        .map((one) => one.outerHTML),
    );
    assert.deepEqual(nameless, [], path);
    await axe(page, path);
    await walk(page, path);
  }
  // Past what stands on each page to what it is about, and on from there.
  await page.goto(`${service.url}/live`);
  await page.getByRole('link', { name: 'demo' }).waitFor();
  const focused = page.locator(':focus');
  await page.keyboard.press('Tab');
  assert.equal(await focused.textContent(), 'Skip to content');
  await page.keyboard.press('Enter');
  await page.locator('main:focus').waitFor();
  await page.keyboard.press('Tab');
  assert.match((await focused.getAttribute('href')) ?? '', /^\/live\/./);
  await page.keyboard.press('Enter');
  const validations = page.getByRole('tab', { name: 'Validations' });
  await validations.waitFor();
  for (let step = 0; step < 40 && (await validations.and(focused).count()) === 0; step++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('tabpanel', { name: 'Validations' }).waitFor();
  await page.goto(`${service.url}/machines`);
  await dialog(page, page.getByRole('button', { name: 'Add a machine' }));

  // Dark is kept.
  await page.getByRole('button', { name: 'Dark colours' }).click();
  await page.goto(`${service.url}/live/${ids.cluster}/hosts`);
  await page.getByRole('grid', { name: 'Hosts', exact: true }).getByText('GiB').first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.classList.contains('pf-v6-theme-dark')), true);
  await axe(page, 'hosts in the dark');
  await picture('dark');

  // As narrow as a telephone, and dark still: what is wider than the screen scrolls in itself.
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of ours) {
    await page.goto(service.url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (path.endsWith('/hosts')) await page.getByRole('grid', { name: 'Who reaches whom' }).getByText('✓').first().waitFor();
    await axe(page, `${path}, narrow and dark`);
    await fits(page, path);
  }
});
