import { EmptyState, EmptyStateBody, PageSection, Spinner, Title } from '@patternfly/react-core';
import { Table, Tbody, Th, Thead, Tr } from '@patternfly/react-table';
import { Link } from 'react-router-dom-v5-compat';
import { api } from '../api/client';
import { FailureAlert } from '../common/FailureAlert';
import { useAsked } from '../common/useAsked';
import { useSession } from '../session/Session';
import { ImageRow } from './ImageRow';

/** The discovery images: one of each infra-env. */
export function ImagesPage() {
  const { mayChange } = useSession();
  const { value, error } = useAsked(api.infraEnvs, 'all');
  return (
    <PageSection isFilled>
      <Title headingLevel="h1">Images</Title>
      <p>Machines that boot one of these images appear as hosts of its cluster.</p>
      {error && <FailureAlert failure={error} variant="warning" />}
      {!value && !error && <Spinner aria-label="Asking for the images" />}
      {value?.length === 0 && (
        <EmptyState titleText="There are no images" headingLevel="h2">
          <EmptyStateBody>
            Each cluster has one{mayChange && <>: <Link to="/clusters/~new">make a cluster</Link></>}.
          </EmptyStateBody>
        </EmptyState>
      )}
      {value && value.length > 0 && (
        <Table variant="compact" aria-label="Images">
          <Thead>
            <Tr>
              <Th width={25}>Name</Th>
              <Th>Kind</Th>
              <Th width={30}>State</Th>
              <Th screenReaderText="Actions" />
            </Tr>
          </Thead>
          <Tbody>
            {value.map((infraEnv) => (
              <ImageRow key={infraEnv.id} infraEnv={infraEnv} />
            ))}
          </Tbody>
        </Table>
      )}
    </PageSection>
  );
}
