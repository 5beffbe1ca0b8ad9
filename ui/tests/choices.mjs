// @ts-check
// What the wizard asks only of those who want it: static networks by its form, an operator with what it needs, and a manifest of one's own;
// and what the service has of it then.

import assert from 'node:assert/strict';
import { own } from './lib/access.mjs';
import { PULL_SECRET } from './lib/service.mjs';
import { run } from './lib/browser.mjs';
import { Wizard } from './lib/wizard.mjs';

/** How long the forms may take to send what was typed. */
const KEPT_MS = 30_000;

const MANIFEST = `apiVersion: v1
kind: ConfigMap
metadata:
  name: motd
  namespace: openshift-config
data:
  text: Ask before you change something.
`;

await run(async ({ service, page }) => {
  const wizard = new Wizard(page);
  const next = page.locator('button[name=next]');

  /**
   * Waits until the service has what was typed: the forms send it a moment later.
   * @param {string} path
   * @param {(answer: any) => boolean} isKept
   */
  const kept = async (path, isKept) => {
    for (const until = Date.now() + KEPT_MS; ; ) {
      const answer = await service.ask(path);
      if (isKept(answer)) return answer;
      assert.ok(Date.now() < until, `${path} is not what was typed: ${JSON.stringify(answer)}`);
      await page.waitForTimeout(200);
    }
  };

  // The first form asks for two steps more.
  await page.goto(service.url);
  await wizard.begin('demo', 'example.com');
  await page.getByRole('checkbox', { name: /Include custom manifests/ }).check();
  await page.getByRole('radio', { name: 'Static IP, bridges, and bonds' }).check();
  const cluster = await wizard.make(PULL_SECRET);
  const [{ id: infraEnv }] = await service.ask(`/v2/infra-envs?cluster_id=${cluster}`);
  const ofCluster = `/v2/clusters/${cluster}`;
  const ofInfraEnv = `/v2/infra-envs/${infraEnv}`;

  // The network of all hosts: a gateway beyond it is refused before anything is sent.
  await wizard.field('dns').fill('192.0.2.53');
  await page.getByTestId('ipv4-machine-network-ip').fill('192.0.2.0');
  await page.getByTestId('ipv4-machine-network-prefix-length').fill('24');
  const gateway = page.getByTestId('ipv4-gateway');
  await gateway.fill('198.51.100.1');
  const outside = page.getByText('IP Address is outside of the subnet 192.0.2.0/24').first();
  await outside.waitFor();
  assert.equal(await next.isDisabled(), true);
  await gateway.fill('192.0.2.1');
  await outside.waitFor({ state: 'detached' });
  await kept(ofInfraEnv, ({ static_network_config: text }) => text.includes('next-hop-address: 192.0.2.1'));
  await wizard.next();

  // One host of it.
  await page.getByTestId('mac-address-0').fill('52:54:00:0a:00:01');
  const address = page.getByTestId('ipv4-address-0');
  await address.fill('198.51.100.10');
  await outside.waitFor();
  assert.equal(await next.isDisabled(), true);
  await address.fill('192.0.2.10');
  await outside.waitFor({ state: 'detached' });
  const { static_network_config: text } = await kept(ofInfraEnv, ({ static_network_config: text }) => text.includes('ip: 192.0.2.10'));
  const networks = JSON.parse(text);
  assert.equal(networks.length, 1, text);
  const [{ mac_interface_map: interfaces, network_yaml: yaml }] = networks;
  assert.deepEqual(interfaces, [{ mac_address: '52:54:00:0a:00:01', logical_nic_name: 'eth0' }]);
  for (const line of ['name: eth0', 'prefix-length: 24', 'dhcp: false', '- 192.0.2.53', 'next-hop-interface: eth0']) {
    assert.ok(yaml.includes(line), `${line} is not in ${yaml}`);
  }
  await wizard.next();

  // An operator, with what it needs of a host; the operator that it builds on is chosen along with it, and can't be left out.
  await page.getByRole('button', { name: /^Single Operators \(\d+ \| 0 selected\)/ }).click();
  await page.locator('#form-control__form-input-odf-field .pf-v6-c-form__group-label-help').click();
  const needs = page.getByRole('dialog');
  await needs.getByText('Additional requirements').waitFor();
  await needs.getByText(/Each control plane node requires an additional \d+ MiB of memory/).waitFor();
  await own(page, 'what an operator needs');
  await page.keyboard.press('Escape');
  await needs.waitFor({ state: 'detached' });
  await page.getByTestId('operator-checkbox-odf').check();
  await page.getByRole('button', { name: /^Single Operators \(\d+ \| 2 selected\)/ }).waitFor();
  const base = page.getByTestId('operator-checkbox-lso');
  assert.deepEqual([await base.isChecked(), await base.isDisabled()], [true, true]);
  const names = (/** @type {{ monitored_operators: { name: string }[] }} */ { monitored_operators: all }) => all.map(({ name }) => name);
  const chosen = names(await kept(ofCluster, (answer) => names(answer).includes('odf')));
  assert.ok(chosen.includes('lso'), chosen.join(', '));
  await wizard.next();

  // Among the hosts it is told why the cluster does not have what the operator needs, and nobody goes on until it has.
  await page.getByText('The cluster must either have no dedicated worker nodes or at least three').first().waitFor();
  assert.equal(await next.isDisabled(), true);
  const hosts = service.simulate({ cluster, infraEnv }, ['--hosts-only', '--speed', '60']);
  await wizard.hosts(3, 90_000);
  await wizard.toNetworking();
  const { host_networks: found } = await service.ask(ofCluster);
  const beginning = found[0].cidr.split('.').slice(0, 3).join('.');
  await wizard.field('apiVips-0-ip').fill(`${beginning}.50`);
  await wizard.field('ingressVips-0-ip').fill(`${beginning}.51`);
  await kept(ofCluster, ({ api_vips: api, ingress_vips: ingress }) => api?.length === 1 && ingress?.length === 1);
  await wizard.next();

  // A manifest from a file; a name that no manifest can have is refused before anything is sent.
  const form = page.getByTestId('expanded-manifest-0');
  await form.locator('input[type=file]').setInputFiles({ name: 'motd.yaml', mimeType: 'application/yaml', buffer: Buffer.from(MANIFEST) });
  const content = page.getByTestId('yamlContent-0').getByRole('textbox');
  await content.waitFor();
  assert.equal(await content.inputValue(), MANIFEST);
  const filename = page.getByTestId('filename-0');
  await filename.fill('motd.txt');
  const refused = page.getByText(/^Must have a yaml, yml, json/).first();
  await refused.waitFor();
  assert.equal(await next.isDisabled(), true);
  await filename.fill('motd.yaml');
  await refused.waitFor({ state: 'detached' });
  const manifests = await kept(`${ofCluster}/manifests`, (all) => all.length > 0);
  const paths = manifests.map((/** @type {{ folder: string, file_name: string }} */ one) => `${one.folder}/${one.file_name}`);
  assert.deepEqual(paths, ['manifests/motd.yaml']);
  const file = `${ofCluster}/manifests/files?folder=manifests&file_name=motd.yaml`;
  assert.equal(await (await fetch(`${service.url}/api/assisted-install${file}`)).text(), MANIFEST);
  await wizard.next();

  // The review has all of it, and the cluster can be installed.
  await page.getByTestId('manifest-detail-manifests-motd.yaml').filter({ hasText: 'manifests/motd.yaml' }).waitFor();
  for (const operator of ['odf', 'lso']) await page.getByTestId(`operator-${operator}`).filter({ hasText: 'Enabled' }).waitFor();
  await page.locator('button[name=install]:not([disabled])').waitFor({ timeout: 90_000 });
  await own(page, 'the review');
  await hosts.kill();
});
