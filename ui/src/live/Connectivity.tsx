import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import type { Host, RemoteHost } from '../api/types';
import { parsed } from '../common/json';
import { hostName } from './hosts';

/** What a host has found out about another one. */
function reach(host: Host, other: Host): { sign: string; text: string } {
  if (host.id === other.id) return { sign: '', text: 'the same host' };
  const report = parsed<{ remote_hosts?: RemoteHost[] | null }>(host.connectivity);
  const remote = report?.remote_hosts?.find(({ host_id }) => host_id === other.id);
  if (!remote) return { sign: '?', text: 'not known yet' };
  const routed = (remote.l3_connectivity ?? []).filter(({ successful }) => successful);
  if (routed.length > 0) {
    const times = routed.map(({ average_rtt_ms }) => average_rtt_ms ?? 0);
    const loss = Math.max(...routed.map(({ packet_loss_percentage }) => packet_loss_percentage ?? 0));
    const time = `${Math.max(...times).toFixed(1)} ms`;
    return { sign: `✓ ${time}`, text: `reached in ${time}, ${loss}% lost` };
  }
  const isNear = (remote.l2_connectivity ?? []).some(({ successful }) => successful);
  return isNear ? { sign: '✓ L2', text: 'reached in the same network only' } : { sign: '✗', text: 'not reached' };
}

/** A map of who reaches whom: a row for each host that asks, a column for each that answers. With many hosts it scrolls sideways. */
export function Connectivity({ hosts }: { hosts: Host[] }) {
  return (
    <div className="connectivity-map" role="region" aria-label="Map of who reaches whom" tabIndex={0}>
      <Table variant="compact" gridBreakPoint="" aria-label="Who reaches whom" className="connectivity">
        <Thead>
          <Tr>
            <Th>From</Th>
            {hosts.map((host) => (
              <Th key={host.id}>{hostName(host)}</Th>
            ))}
          </Tr>
        </Thead>
        <Tbody>
          {hosts.map((host) => (
            <Tr key={host.id}>
              <Th>{hostName(host)}</Th>
              {hosts.map((other) => {
                const { sign, text } = reach(host, other);
                return (
                  <Td key={other.id} title={text}>
                    <span aria-label={text} role="img">
                      {sign}
                    </span>
                  </Td>
                );
              })}
            </Tr>
          ))}
        </Tbody>
      </Table>
    </div>
  );
}
