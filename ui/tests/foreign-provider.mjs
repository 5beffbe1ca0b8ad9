// @ts-check
// Logging in by a provider that is not of this project: in the browser by its own pages, and from the command line by a code.

import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { run } from './lib/browser.mjs';
import { ForeignProvider } from './lib/foreign-provider.mjs';
import { freePort } from './lib/free-port.mjs';

/** The provider's pages ask for a typeface there, and get none. */
const TYPEFACES = 'https://fonts.googleapis.com';
const SECRET = 's3cret+/&%';
const CALLBACK = '/api/assisted-install/auth/oidc/callback';

const listen = `127.0.0.1:${await freePort()}`;
const client = {
  redirect_uris: [`http://${listen}${CALLBACK}`],
  grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
};
const provider = await ForeignProvider.start([
  { ...client, client_id: 'assisted', client_secret: SECRET },
  { ...client, client_id: 'other', client_secret: 'another' },
]);
try {
  await run(
    async ({ service, page, context, expectError, settled }) => {
      await context.route(`${TYPEFACES}/**`, (route) => route.abort());
      expectError(/^401 .*\/auth\/(me|oidc\/callback)$/);
      const start = page.getByRole('heading', { name: 'Log in to assisted' });
      const enter = () => page.getByRole('link', { name: 'Log in by the identity provider' }).click();
      const isIn = async (/** @type {string} */ role) => {
        await page.getByText(`ann (${role})`).waitFor();
        await settled();
        await page.getByRole('button', { name: 'Log out' }).click();
        await start.waitFor();
      };
      const isRefused = async () => {
        await enter();
        await page.getByText('the log-in was not accepted').waitFor();
        assert.equal(new URL(page.url()).pathname, CALLBACK);
        await page.goto(service.url);
        await start.waitFor();
      };

      // The provider asks who it is, and whether they agree.
      provider.groups.ann = ['staff', 'ops'];
      await page.goto(`${service.url}/images`);
      await enter();
      await page.locator('input[name=login]').fill('ann');
      await page.locator('input[name=password]').fill('what the provider takes');
      await page.getByRole('button', { name: 'Sign-in' }).click();
      await page.getByText('groups', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Continue' }).click();
      await isIn('admin');

      // It knows her from now on. Her groups are her role each time.
      for (const [group, role] of Object.entries({ dev: 'editor', staff: 'viewer', ops: 'admin' })) {
        provider.groups.ann = [group];
        await enter();
        await isIn(role);
      }
      provider.groups.ann = ['others'];
      await isRefused();
      provider.groups.ann = ['dev'];

      // The provider signs what is for another client, and what has expired, as it does what is good.
      provider.audience = 'other';
      await isRefused();
      provider.audience = 'assisted';
      await enter();
      await isIn('editor');
      provider.audience = undefined;
      provider.life = -120;
      await isRefused();
      provider.life = 300;
      // A key that the service has not seen yet.
      provider.rotate();
      await enter();
      await isIn('editor');

      // From the command line: the page fills the code in.
      const login = service.cli(['login']);
      if (!login.stdout || !login.stderr) throw new Error('no output');
      const said = text(login.stdout);
      const [, address, code] = await new Promise((resolve, reject) => {
        login.once('exit', (status) => reject(new Error(`the log-in ended with ${status}`)));
        createInterface({ input: /** @type {import('node:stream').Readable} */ (login.stderr) }).on('line', (line) => {
          const told = /^open (\S+) and confirm the code (\S+)$/.exec(line);
          if (told) resolve(told);
          else reject(new Error(line));
        });
      });
      assert.equal(new URL(address).origin, provider.issuer);
      // It sends itself on.
      await page.goto(address, { waitUntil: 'commit' });
      await page.getByText(code, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('Sign-in Success').waitFor();
      assert.match(await said, /^logged in as ann, editor, until /);
      const clusters = service.cli(['cluster', 'list', '-o', 'json']);
      if (!clusters.stdout) throw new Error('no output');
      assert.deepEqual(JSON.parse(await text(clusters.stdout)), []);
    },
    {
      listen,
      env: {
        AUTH_TYPE: 'users',
        SERVICE_BASE_URL: `http://${listen}`,
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: 'assisted',
        OIDC_CLIENT_SECRET: SECRET,
        OIDC_SCOPES: 'openid,profile,groups',
        OIDC_ADMINS: 'ops',
        OIDC_EDITORS: 'dev',
        OIDC_VIEWERS: 'staff',
      },
      allowedOrigins: [provider.issuer, TYPEFACES],
    },
  );
} finally {
  await provider.end();
}
