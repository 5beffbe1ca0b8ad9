// @ts-check
// The pages of the library, from an empty list to an installed cluster, as a person takes them. None of them has words or links of a
// hosted service.

import { own } from './access.mjs';

/** A page that is in the wizard, or will be. */
export class Wizard {
  /** @type {import('playwright-core').Page} */
  #page;

  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.#page = page;
  }

  /** @param {string} name */
  field(name) {
    return this.#page.locator(`input#form-input-${name}-field, textarea#form-input-${name}-field`);
  }

  async next() {
    // The forms keep what was typed a moment later.
    await this.#page.locator('button[name=next]:not([disabled]):not([aria-disabled=true])').waitFor();
    await own(this.#page, 'a step of the wizard');
    await this.#page.locator('button[name=next]').click();
  }

  /**
   * From the list of clusters to the first form.
   * @param {string} name
   * @param {string} domain
   */
  async begin(name, domain) {
    await this.#page.getByRole('link', { name: /create/i }).or(this.#page.getByRole('button', { name: /create/i })).first().click();
    await this.field('name').fill(name);
    await this.field('baseDnsDomain').fill(domain);
  }

  /**
   * Leaves the first form, which makes the cluster; its id.
   * @param {string} pullSecret
   */
  async make(pullSecret) {
    await this.field('pullSecret').fill(pullSecret);
    await this.next();
    await this.#page.waitForURL(/\/clusters\/[0-9a-f-]{36}/);
    return /clusters\/([0-9a-f-]{36})/.exec(this.#page.url())?.[1] ?? '';
  }

  /** What is told of the pull secret, at the first form. */
  async pullSecretHelp() {
    await this.#page.locator('#form-control__form-input-pullSecret-field').getByRole('button').first().click();
    // What is wrong with the cluster's name is a dialog as well, for a moment.
    const help = this.#page.getByRole('dialog').filter({ hasText: 'pull secret' });
    await help.waitFor();
    await own(this.#page, 'the help for the pull secret');
    await this.#page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
  }

  /** What is told to somebody who misses hosts, among the hosts. */
  async troubleshooting() {
    await this.#page.getByRole('button', { name: /not showing up/ }).first().click();
    const help = this.#page.getByRole('dialog');
    await help.getByText('journalctl -u agent.service').waitFor();
    await own(this.#page, 'the help for hosts that are missed');
    await help.getByRole('button', { name: 'Close' }).last().click();
    await help.waitFor({ state: 'detached' });
  }

  /** Has the discovery image made, among the hosts; its address. */
  async image() {
    await this.#page.getByRole('button', { name: 'Add hosts' }).first().click();
    await this.#page.getByRole('button', { name: /generate discovery iso/i }).last().click();
    await this.#page.getByText(/Discovery ISO URL/i).first().waitFor();
    await own(this.#page, 'the image');
    // The first of what can be copied; the second is a command that downloads it.
    const address = await this.#page.getByRole('textbox', { name: 'Copyable input' }).first().inputValue();
    await this.#page.getByRole('button', { name: 'Close' }).last().click();
    return address;
  }

  /**
   * Waits for so many hosts that can be installed.
   * @param {number} count
   * @param {number} timeout
   */
  async hosts(count, timeout) {
    await this.#page.getByText('Ready', { exact: true }).nth(count - 1).waitFor({ timeout });
  }

  /** From the hosts to networking. */
  async toNetworking() {
    await this.next();
    // Storage.
    await this.next();
    await this.field('apiVips-0-ip').waitFor();
  }

  /**
   * From the review to the live view, once the cluster can be installed.
   * @param {number} timeout
   */
  async install(timeout) {
    await this.#page.locator('button[name=install]:not([disabled])').waitFor({ timeout });
    await own(this.#page, 'the review');
    await this.#page.locator('button[name=install]').click();
    await this.#page.getByText(/Installation in progress|Preparing|Installing/i).first().waitFor();
    await this.#page.getByRole('link', { name: /^Live view/ }).click();
  }

  /** The kubeconfig of an installed cluster, as a file. */
  async kubeconfig() {
    return this.downloaded(() => this.#page.locator('#cluster-detail-button-download-kubeconfig').click());
  }

  /** @param {() => Promise<void>} ask */
  async downloaded(ask) {
    const download = this.#page.waitForEvent('download');
    await ask();
    return download;
  }
}
