// @ts-check
// Dark, narrow, by the keyboard and by a screen reader; no page has words or links of a hosted service.

import assert from 'node:assert/strict';
import { axe, own, walk } from './lib/access.mjs';
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
  for (const path of [`/live/${ids.cluster}`, `/live/${ids.cluster}/hosts`, `/live/${ids.cluster}/validations`, `/live/${ids.cluster}/events`, '/live', '/images', '/machines', '/help']) {
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
  await page.goto(`${service.url}/live`);
  await page.getByRole('link', { name: 'demo' }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content');
  await page.getByRole('link', { name: 'demo' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'Stages' }).waitFor();
  await page.getByRole('tab', { name: 'Stages' }).focus();
  await page.keyboard.press('Tab');

  // Dark is kept.
  await page.getByRole('button', { name: 'Dark colours' }).click();
  await page.goto(`${service.url}/live/${ids.cluster}/hosts`);
  await page.getByRole('grid', { name: 'Hosts', exact: true }).getByText('GiB').first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.classList.contains('pf-v6-theme-dark')), true);
  await axe(page, 'hosts in the dark');
  await picture('dark');

  // As narrow as a telephone: nothing is wider than the screen but the map, which scrolls in itself.
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of [`/live/${ids.cluster}`, `/live/${ids.cluster}/validations`, `/live/${ids.cluster}/events`, '/live', '/images', '/machines', '/help']) {
    await page.goto(service.url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await axe(page, `${path}, narrow`);
    const { wide, width } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, width: window.innerWidth }));
    assert.ok(wide <= width, `${path} is ${wide} wide`);
  }
});
