import { Button, EmptyState, EmptyStateBody, PageSection, Spinner, Title } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useEffect, useState } from 'react';
import { Link } from 'react-router-dom-v5-compat';
import { api } from '../api/client';
import { FailureAlert } from '../common/FailureAlert';
import { useAsked } from '../common/useAsked';
import { useSession } from '../session/Session';
import { StatusLabel } from './StatusLabel';

const EVERY_MS = 10_000;

/** All clusters; each leads to its live view. */
export function LiveListPage() {
  const { mayChange } = useSession();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => setTurn((last) => last + 1), EVERY_MS);
    return () => window.clearInterval(timer);
  }, []);
  const { value, error } = useAsked(api.clusters, `${turn}`);
  return (
    <PageSection isFilled>
      <Title headingLevel="h1">Live</Title>
      {error && (
        <FailureAlert
          failure={error}
          variant="warning"
          action={
            <Button variant="link" isInline onClick={() => setTurn(turn + 1)}>
              Try again
            </Button>
          }
        />
      )}
      {!value && !error && <Spinner aria-label="Asking for the clusters" />}
      {value?.length === 0 && (
        <EmptyState titleText="There are no clusters" headingLevel="h2">
          <EmptyStateBody>
            {mayChange ? (
              <>
                <Link to="/clusters/~new">Make one</Link>, and follow here how it is installed.
              </>
            ) : (
              'They appear here when somebody makes one.'
            )}
          </EmptyStateBody>
        </EmptyState>
      )}
      {value && value.length > 0 && (
        <Table variant="compact" aria-label="Clusters">
          <Thead>
            <Tr>
              <Th>Name</Th>
              <Th>State</Th>
              <Th>Progress</Th>
              <Th>Hosts</Th>
              <Th>OpenShift</Th>
            </Tr>
          </Thead>
          <Tbody>
            {value.map((cluster) => (
              <Tr key={cluster.id}>
                <Td dataLabel="Name">
                  <Link to={`/live/${cluster.id}`}>{cluster.name}</Link>
                </Td>
                <Td dataLabel="State">
                  <StatusLabel status={cluster.status} info={cluster.status_info} />
                </Td>
                <Td dataLabel="Progress">{cluster.progress?.total_percentage ?? 0}%</Td>
                <Td dataLabel="Hosts">{cluster.total_host_count ?? cluster.hosts?.length ?? 0}</Td>
                <Td dataLabel="OpenShift">{cluster.openshift_version}</Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
      )}
    </PageSection>
  );
}
