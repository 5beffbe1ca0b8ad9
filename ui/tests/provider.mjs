// @ts-check
// Logging in by an identity provider, which sends the browser back into the UI.

import { run } from './lib/browser.mjs';
import { freePort } from './lib/free-port.mjs';

const issuer = process.env.ISSUER ?? '';
const listen = `127.0.0.1:${await freePort()}`;

await run(
  async ({ service, page, expectError }) => {
    expectError(/^401 .*\/auth\/me$/);
    await page.goto(`${service.url}/images`);
    await page.getByRole('link', { name: 'Log in by the identity provider' }).click();
    await page.getByText('ann (admin)').waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to assisted' }).waitFor();
  },
  {
    listen,
    env: {
      AUTH_TYPE: 'users',
      SERVICE_BASE_URL: `http://${listen}`,
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: 'assisted',
      OIDC_CLIENT_SECRET: 'secret',
      OIDC_ADMINS: 'ops',
      OIDC_ROLES_CLAIM: 'groups',
    },
    allowedOrigins: [new URL(issuer || 'http://localhost').origin],
  },
);
