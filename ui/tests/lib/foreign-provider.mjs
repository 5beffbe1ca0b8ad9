// @ts-check
// A provider of OpenID Connect that others have made and had certified: `oidc-provider`, with the pages that it brings along. It
// wants PKCE of each browser's log-in, and tells names and groups at its UserInfo endpoint, not in its ID tokens.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
// @ts-ignore It comes without types.
import { Provider } from 'oidc-provider';

/** By these it knows its cookies again, whatever its other keys are. */
const COOKIES = { keys: [randomUUID()] };

export class ForeignProvider {
  /** @type {import('node:http').RequestListener} */
  #handler = (_, response) => void response.writeHead(503).end();
  #server = createServer((request, response) => this.#handler(request, response));
  /** @type {Record<string, unknown>[]} */
  #clients;
  issuer = '';
  /**
   * The values of the claim `groups`, by the names of accounts: there are no others.
   * @type {Record<string, string[]>}
   */
  groups = {};
  /** How long an ID token is good, in seconds. */
  life = 300;
  /**
   * For which client ID tokens of browsers are made, whoever asks, with all claims; by itself it makes them for who asks.
   * @type {string | undefined}
   */
  audience;

  /** @param {Record<string, unknown>[]} clients As they are registered */
  constructor(clients) {
    this.#clients = clients;
  }

  /** @param {Record<string, unknown>[]} clients */
  static async start(clients) {
    const provider = new ForeignProvider(clients);
    await new Promise((resolve) => provider.#server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const address = provider.#server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    provider.issuer = `http://127.0.0.1:${address.port}`;
    provider.rotate();
    return provider;
  }

  /** Signs with a new key from now on, and forgets the one before; who has logged in stays so. */
  rotate() {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'RS256', use: 'sig' };
    const provider = new Provider(this.issuer, {
      clients: this.#clients,
      cookies: COOKIES,
      jwks: { keys: [key] },
      features: { deviceFlow: { enabled: true } },
      claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
      ttl: { IdToken: () => this.life },
      findAccount: (/** @type {unknown} */ _, /** @type {string} */ name) => {
        const groups = this.groups[name];
        return groups && { accountId: name, claims: () => ({ sub: name, preferred_username: name, groups }) };
      },
    });
    provider.use(async (/** @type {any} */ context, /** @type {() => Promise<void>} */ next) => {
      await next();
      const code = context.oidc?.route === 'token' && context.oidc.entities.AuthorizationCode;
      if (!code || !this.audience) return;
      const client = await provider.Client.find(this.audience);
      const token = new provider.IdToken(context.oidc.account.claims(), { ctx: context, client });
      token.scope = code.scope;
      token.set('nonce', code.nonce);
      context.body.id_token = await token.issue({ use: 'idtoken' });
    });
    this.#handler = provider.callback();
  }

  async end() {
    const ended = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await ended;
  }
}
