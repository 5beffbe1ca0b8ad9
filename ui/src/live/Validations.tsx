import { ExpandableSection, Label, Spinner, Switch } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useState } from 'react';
import { api } from '../api/client';
import type { Host, Validation } from '../api/types';
import { FailureAlert } from '../common/FailureAlert';
import { useAsked } from '../common/useAsked';
import { hostName, sortedHosts } from './hosts';
import type { LiveState } from './state';

const ORDER = ['failure', 'error', 'pending', 'success', 'disabled'];
const GOOD = ['success', 'disabled'];

const COLOURS: Record<string, 'red' | 'orange' | 'green' | 'grey'> = {
  failure: 'red',
  error: 'red',
  pending: 'orange',
  success: 'green',
  disabled: 'grey',
};

/** Each reason why the cluster and its hosts can or can't be installed: measured, required, and what to do. */
export function Validations({ clusterId, state }: { clusterId: string; state: LiveState }) {
  const [showsGood, setShowsGood] = useState(false);
  const { cluster, hosts } = state;
  return (
    <>
      <Switch label="Show what is well, too" isChecked={showsGood} onChange={(_, checked) => setShowsGood(checked)} />
      <Section
        title="Cluster"
        showsGood={showsGood}
        changes={`${cluster?.updated_at}`}
        ask={(signal) => api.clusterValidations(clusterId, signal)}
      />
      {sortedHosts(hosts).map((host) => (
        <HostSection key={host.id} host={host} showsGood={showsGood} />
      ))}
    </>
  );
}

function HostSection({ host, showsGood }: { host: Host; showsGood: boolean }) {
  return (
    <Section
      title={`Host ${hostName(host)}`}
      showsGood={showsGood}
      changes={`${host.id} ${host.validations_info ?? host.updated_at}`}
      ask={(signal) => api.hostValidations(host, signal)}
    />
  );
}

interface SectionProps {
  title: string;
  showsGood: boolean;
  /** Differs when there may be other findings. */
  changes: string;
  ask: (signal: AbortSignal) => Promise<Validation[]>;
}

function Section({ title, showsGood, changes, ask }: SectionProps) {
  const [isOpen, setIsOpen] = useState(true);
  const { value, error } = useAsked(ask, changes);
  if (error) return <FailureAlert failure={error} about={title} variant="warning" />;
  if (!value) return <Spinner size="md" aria-label={`Asking for the validations: ${title}`} />;
  const shown = value
    .filter(({ status }) => showsGood || !GOOD.includes(status))
    .sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
  const bad = value.filter(({ status }) => status === 'failure' || status === 'error').length;
  const pending = value.filter(({ status }) => status === 'pending').length;
  const told = value.length === 0 ? 'nothing is checked now' : bad + pending === 0 ? 'all is well' : `${bad} failing, ${pending} pending`;
  return (
    <ExpandableSection toggleText={`${title}: ${told}`} isExpanded={isOpen} onToggle={(_, open) => setIsOpen(open)} isIndented>
      {shown.length > 0 && (
        <Table variant="compact" aria-label={`Validations: ${title}`}>
          <Thead>
            <Tr>
              <Th width={10}>State</Th>
              <Th width={25}>What</Th>
              <Th>Measured</Th>
              <Th>Required</Th>
              <Th>What to do</Th>
            </Tr>
          </Thead>
          <Tbody>
            {shown.map((validation) => (
              <Tr key={validation.id}>
                <Td dataLabel="State">
                  <Label isCompact color={COLOURS[validation.status] ?? 'grey'}>
                    {validation.status}
                  </Label>
                </Td>
                <Td dataLabel="What">
                  {validation.message}{' '}
                  <small>
                    (
                    <a href={validation.help} target="_blank" rel="noreferrer">
                      {validation.id}
                    </a>
                    )
                  </small>
                </Td>
                <Td dataLabel="Measured">{validation.measured}</Td>
                <Td dataLabel="Required">{validation.required}</Td>
                <Td dataLabel="What to do">{validation.remedy}</Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
      )}
    </ExpandableSection>
  );
}
