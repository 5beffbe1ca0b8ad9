// @ts-check
// Logging in by name and password: the first administrator, a wrong password, a session that expires, another role, logging out.

import assert from 'node:assert/strict';
import { axe, fits, walk } from './lib/access.mjs';
import { run } from './lib/browser.mjs';
import { logIn } from './lib/log-in.mjs';

const PASSWORD = 'correct horse battery';

await run(
  async ({ service, page, context, expectError, settled, picture }) => {
    expectError(/^401 .*\/auth\/(me|login|setup|logout)$/);
    await page.goto(`${service.url}/live`);
    await page.getByRole('heading', { name: 'Log in to assisted' }).waitFor();
    assert.equal(await page.getByText('identity provider').count(), 0);
    await picture('sign-in');
    await axe(page, 'logging in');
    await walk(page, 'logging in');
    // On a telephone, in the dark.
    const wide = page.viewportSize() ?? { width: 1500, height: 950 };
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.reload();
    await page.getByRole('heading', { name: 'Log in to assisted' }).waitFor();
    assert.equal(await page.locator('html.pf-v6-theme-dark').count(), 1);
    await axe(page, 'logging in, narrow and dark');
    await fits(page, 'logging in');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(wide);

    // The link that a start prints fills its code in, and the code leaves the address.
    await page.goto('about:blank');
    await page.goto(`${service.url}/#setup=${service.setupCode}`);
    await page.getByRole('heading', { name: 'Make the first administrator' }).waitFor();
    assert.equal(await page.getByLabel('Code that the service has printed').inputValue(), service.setupCode);
    assert.ok(!page.url().includes(service.setupCode), page.url());

    // The first administrator.
    await page.goto(`${service.url}/live`);
    await page.getByRole('button', { name: 'I have a code of the first start' }).click();
    await page.getByLabel('Code that the service has printed').fill('asst_wrong');
    await page.getByLabel('Name').fill('root');
    await page.getByLabel(/^Password/).fill(PASSWORD);
    await page.getByRole('button', { name: 'Make administrator' }).click();
    await page.locator('.pf-v6-c-alert.pf-m-danger').waitFor();
    await page.getByLabel('Code that the service has printed').fill(service.setupCode);
    await page.getByRole('button', { name: 'Make administrator' }).click();
    await page.getByText('root (admin)').waitFor();
    await page.getByText('There are no clusters').waitFor();

    const { token } = await service.ask('/auth/login', { method: 'POST', body: { name: 'root', password: PASSWORD } });
    const viewer = { name: 'vera', password: PASSWORD, role: 'viewer', organisation: '' };
    await service.ask('/auth/users', { method: 'POST', body: viewer, token });
    const ids = await service.cluster('demo', token);
    await page.goto(`${service.url}/live/${ids.cluster}`);
    await page.getByRole('heading', { name: 'demo' }).waitFor();

    // The cookie is for the API and for no script.
    const cookies = await context.cookies(`${service.url}/api/assisted-install/v2/clusters`);
    assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite })), [
      { name: 'assisted_session', httpOnly: true, sameSite: 'Strict' },
    ]);

    // A session expires at the service while a page is open, and the browser goes on showing its cookie. Nothing of the page stays but
    // its address, and a log-in leads back there.
    expectError(/^401 /);
    const session = async () => (await context.cookies(`${service.url}/api/assisted-install/v2`)).map(({ value }) => value);
    const expires = async (/** @type {import('playwright-core').Locator} */ shown, /** @type {() => Promise<void>} */ learn) => {
      const before = await session();
      assert.ok((await service.expireSessions()) > 0);
      await learn();
      await page.getByText('Your session has ended').waitFor();
      assert.deepEqual(await session(), before);
      assert.equal(await shown.count(), 0);
      const address = page.url();
      await logIn(page, 'root', 'wrong password 1');
      await page.locator('.pf-v6-c-alert.pf-m-danger').waitFor();
      await logIn(page, 'root', PASSWORD);
      await shown.waitFor();
      await page.getByText('root (admin)').waitFor();
      assert.equal(page.url(), address);
      assert.notDeepEqual(await session(), before);
    };
    // A page of our own learns it when it asks for something: here for what another tab shows.
    const validations = page.getByRole('tab', { name: 'Validations', selected: true });
    await expires(validations, () => page.getByRole('tab', { name: 'Validations' }).click());
    assert.equal(new URL(page.url()).pathname, `/live/${ids.cluster}/validations`);
    // The library polls.
    await page.goto(`${service.url}/clusters/${ids.cluster}`);
    const wizard = page.locator('button[name=next]');
    await wizard.waitFor();
    await expires(wizard, () => Promise.resolve());
    assert.match(page.url(), new RegExp(ids.cluster));

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to assisted' }).waitFor();
    assert.equal((await context.cookies(`${service.url}/api/assisted-install/v2`)).length, 0);

    // Somebody who may only look has no buttons that change.
    await logIn(page, 'vera', PASSWORD);
    await page.getByText('vera (viewer)').waitFor();
    assert.deepEqual(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts(), ['Live', 'Images', 'Help']);
    for (const path of ['/clusters', '/clusters/~new', '/live', `/live/${ids.cluster}`, `/live/${ids.cluster}/validations`, `/live/${ids.cluster}/hosts`, '/images', '/machines', '/help']) {
      await page.goto(service.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await settled();
      const names = await page.getByRole('button').evaluateAll((all) =>
        all.map((one) => one.getAttribute('aria-label') ?? one.textContent?.trim() ?? ''),
      );
      const changing = names.filter((name) => /cancel|reset|delete|create|make|add|install|save kubeconfig|download|boot|switch|forget/i.test(name));
      assert.deepEqual(changing, [], `${path}: ${names.join(', ')}`);
      assert.equal(await page.getByRole('link', { name: /create|make/i }).count(), 0, path);
    }
    await page.goto(`${service.url}/machines`);
    await page.getByText('Machines are for administrators').waitFor();
  },
  { env: { AUTH_TYPE: 'users' } },
);
