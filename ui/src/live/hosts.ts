import type { Host, Inventory } from '../api/types';
import { parsed } from '../common/json';

/** What people call a host. */
export function hostName(host: Host, inventory?: Inventory): string {
  const found = inventory ?? parsed<Inventory>(host.inventory);
  return host.requested_hostname || found?.hostname || host.id.slice(0, 8);
}

/** The role that a host has or will get. */
export function roleOf({ role, suggested_role, bootstrap }: Host): string {
  const known = role && role !== 'auto-assign' ? role : (suggested_role ?? '');
  return bootstrap ? `${known} (bootstrap)` : known;
}

/** By name, always in the same order. */
export function sortedHosts(hosts: Record<string, Host>): Host[] {
  return Object.values(hosts).sort((one, other) =>
    hostName(one).localeCompare(hostName(other), undefined, { numeric: true }),
  );
}
