import { Button, EmptyState, EmptyStateBody, Flex, PageSection, Spinner, Title } from '@patternfly/react-core';
import { Table, Tbody, Th, Thead, Tr } from '@patternfly/react-table';
import { useCallback, useEffect, useState } from 'react';
import { api } from '../api/client';
import { Problem } from '../common/Problem';
import { FailureAlert } from '../common/FailureAlert';
import { useAsked } from '../common/useAsked';
import { useSession } from '../session/Session';
import { AddMachine } from './AddMachine';
import { MachineRow } from './MachineRow';

/** Between two questions: controllers are slow, and something is asked of a machine for minutes. */
const IDLE_MS = 15_000;
const BUSY_MS = 2000;

/** Machines by their management controllers, for administrators: power, and a discovery image that they boot once. */
export function MachinesPage() {
  const { isAdmin } = useSession();
  if (isAdmin) return <Machines />;
  return <Problem title="Machines are for administrators" text="Controllers of machines open more than a cluster: ask an administrator to start them." />;
}

function Machines() {
  const [turn, setTurn] = useState(0);
  const [isAdding, setIsAdding] = useState(false);
  const again = useCallback(() => setTurn((last) => last + 1), []);
  const { value, error } = useAsked(api.machines, `${turn}`);
  const { value: infraEnvs } = useAsked(api.infraEnvs, 'all');
  const isBusy = value?.some(({ action }) => action?.state === 'running') ?? false;
  useEffect(() => {
    const timer = window.setInterval(again, isBusy ? BUSY_MS : IDLE_MS);
    return () => window.clearInterval(timer);
  }, [again, isBusy]);
  return (
    <PageSection isFilled>
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <Title headingLevel="h1">Machines</Title>
        <Button onClick={() => setIsAdding(true)}>Add a machine</Button>
      </Flex>
      <p>Machines whose management controllers speak Redfish start from a discovery image without anybody beside them.</p>
      {error && <FailureAlert failure={error} variant="warning" />}
      {!value && !error && <Spinner aria-label="Asking for the machines" />}
      {value?.length === 0 && (
        <EmptyState titleText="There are no machines" headingLevel="h2">
          <EmptyStateBody>Add one by the address of its system at its controller, and an account there.</EmptyStateBody>
        </EmptyState>
      )}
      {value && value.length > 0 && (
        <Table variant="compact" aria-label="Machines">
          <Thead>
            <Tr>
              <Th width={20}>Name</Th>
              <Th width={10}>Power</Th>
              <Th>Last action</Th>
              <Th width={40} screenReaderText="Actions" />
            </Tr>
          </Thead>
          <Tbody>
            {value.map((machine) => (
              <MachineRow key={machine.id} machine={machine} infraEnvs={infraEnvs ?? []} onChange={again} />
            ))}
          </Tbody>
        </Table>
      )}
      {isAdding && (
        <AddMachine
          onEnd={() => {
            setIsAdding(false);
            again();
          }}
        />
      )}
    </PageSection>
  );
}
