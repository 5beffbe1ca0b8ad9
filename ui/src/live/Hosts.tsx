import { Alert, EmptyState, EmptyStateBody, Label, Title } from '@patternfly/react-core';
import { ExpandableRowContent, Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useState } from 'react';
import { api } from '../api/client';
import type { Host, Inventory } from '../api/types';
import { parsed } from '../common/json';
import { bytes } from '../common/time';
import { useAsked } from '../common/useAsked';
import { Connectivity } from './Connectivity';
import { hostName, roleOf, sortedHosts } from './hosts';
import { StatusLabel } from './StatusLabel';
import type { LiveState } from './state';

/** The hosts with their hardware, and which of them reach each other. The stream leaves both out: they are asked for. */
export function Hosts({ clusterId, state }: { clusterId: string; state: LiveState }) {
  const followed = sortedHosts(state.hosts);
  const key = followed.map(({ id, status }) => `${id} ${status}`).join();
  const asked = useAsked((signal) => api.cluster(clusterId, signal), `${clusterId} ${key}`);
  const reported = new Map((asked.value?.hosts ?? []).map((host) => [host.id, host]));
  const hosts = followed.map((host) => ({ ...reported.get(host.id), ...withoutEmpty(host) }));
  if (hosts.length === 0) {
    return (
      <EmptyState titleText="There are no hosts yet" headingLevel="h2">
        <EmptyStateBody>Boot machines with the discovery image of this cluster: they appear here within seconds.</EmptyStateBody>
      </EmptyState>
    );
  }
  return (
    <>
      {asked.error && <Alert isInline variant="warning" title={`The hardware is not known: ${asked.error.text}`} />}
      <Table variant="compact" aria-label="Hosts">
        <Thead>
          <Tr>
            <Th screenReaderText="Details" />
            <Th>Name</Th>
            <Th>Role</Th>
            <Th>State</Th>
            <Th>Processors</Th>
            <Th>Memory</Th>
            <Th>Disks</Th>
          </Tr>
        </Thead>
        {hosts.map((host, index) => (
          <HostRow key={host.id} host={host} index={index} />
        ))}
      </Table>
      <Title headingLevel="h2">Who reaches whom</Title>
      <Connectivity hosts={hosts} />
    </>
  );
}

/** What the stream says wins, but for what it leaves out. */
function withoutEmpty(host: Host): Host {
  return Object.fromEntries(Object.entries(host).filter(([, value]) => value !== '')) as unknown as Host;
}

function HostRow({ host, index }: { host: Host; index: number }) {
  const [isOpen, setIsOpen] = useState(false);
  const inventory = parsed<Inventory>(host.inventory);
  const disks = inventory?.disks ?? [];
  return (
    <Tbody isExpanded={isOpen}>
      <Tr>
        <Td expand={{ rowIndex: index, isExpanded: isOpen, onToggle: () => setIsOpen(!isOpen) }} />
        <Td dataLabel="Name">{hostName(host, inventory)}</Td>
        <Td dataLabel="Role">{roleOf(host)}</Td>
        <Td dataLabel="State">
          <StatusLabel status={host.status} info={host.status_info} />
        </Td>
        <Td dataLabel="Processors">{inventory?.cpu?.count}</Td>
        <Td dataLabel="Memory">{bytes(inventory?.memory?.physical_bytes)}</Td>
        <Td dataLabel="Disks">{disks.map((disk) => bytes(disk.size_bytes)).join(', ')}</Td>
      </Tr>
      <Tr isExpanded={isOpen}>
        <Td />
        <Td colSpan={6}>
          <ExpandableRowContent>{isOpen && inventory && <Hardware host={host} inventory={inventory} />}</ExpandableRowContent>
        </Td>
      </Tr>
    </Tbody>
  );
}

function Hardware({ host, inventory }: { host: Host; inventory: Inventory }) {
  const { system_vendor: vendor, cpu, disks, interfaces } = inventory;
  return (
    <>
      <p>
        {[vendor?.manufacturer, vendor?.product_name, vendor?.serial_number].filter(Boolean).join(' ')}
        {cpu && ` · ${cpu.model_name ?? ''} ${cpu.architecture ?? ''}`}
      </p>
      <Table variant="compact" borders={false} aria-label={`Disks of ${hostName(host, inventory)}`}>
        <Thead>
          <Tr>
            <Th>Disk</Th>
            <Th>Kind</Th>
            <Th>Size</Th>
            <Th>For the installation</Th>
          </Tr>
        </Thead>
        <Tbody>
          {(disks ?? []).map((disk) => (
            <Tr key={disk.id ?? disk.path}>
              <Td dataLabel="Disk">
                {disk.name} {disk.model} {disk.id === host.installation_disk_id && <Label isCompact color="blue">installed here</Label>}
              </Td>
              <Td dataLabel="Kind">{disk.drive_type}</Td>
              <Td dataLabel="Size">{bytes(disk.size_bytes)}</Td>
              <Td dataLabel="For the installation">
                {disk.installation_eligibility?.eligible ? 'can be used' : disk.installation_eligibility?.not_eligible_reasons?.join('; ')}
              </Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
      <Table variant="compact" borders={false} aria-label={`Interfaces of ${hostName(host, inventory)}`}>
        <Thead>
          <Tr>
            <Th>Interface</Th>
            <Th>MAC address</Th>
            <Th>Speed</Th>
            <Th>Addresses</Th>
          </Tr>
        </Thead>
        <Tbody>
          {(interfaces ?? []).map((card) => (
            <Tr key={card.name}>
              <Td dataLabel="Interface">{card.name}</Td>
              <Td dataLabel="MAC address">{card.mac_address}</Td>
              <Td dataLabel="Speed">{card.speed_mbps ? `${card.speed_mbps} Mbit/s` : ''}</Td>
              <Td dataLabel="Addresses">{[...(card.ipv4_addresses ?? []), ...(card.ipv6_addresses ?? [])].join(', ')}</Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
    </>
  );
}
