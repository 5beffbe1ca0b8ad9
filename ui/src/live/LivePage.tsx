import { Alert, Breadcrumb, BreadcrumbItem, Flex, FlexItem, PageSection, Progress, Spinner, Tab, Tabs, TabTitleText, Title } from '@patternfly/react-core';
import { Link, useNavigate, useParams } from 'react-router-dom-v5-compat';
import { Problem } from '../common/Problem';
import { Actions } from './Actions';
import { Events } from './Events';
import { Hosts } from './Hosts';
import { StatusLabel } from './StatusLabel';
import { Timeline } from './Timeline';
import { useLive } from './useLive';
import { Validations } from './Validations';

const TABS = [
  { key: 'progress', text: 'Stages' },
  { key: 'validations', text: 'Validations' },
  { key: 'hosts', text: 'Hosts' },
  { key: 'events', text: 'Events' },
];

/** What the tabs lead to. */
const VIEW = 'live-view';

export function LivePage() {
  const { clusterId = '' } = useParams();
  // Another cluster begins with nothing.
  return <Followed key={clusterId} clusterId={clusterId} />;
}

function Followed({ clusterId }: { clusterId: string }) {
  const { tab = 'progress' } = useParams();
  const navigate = useNavigate();
  const state = useLive(clusterId);
  const { cluster, connection } = state;
  if (connection === 'gone') {
    return (
      <Problem
        title="There is no such cluster"
        text="It was deleted, or the address is wrong."
        action={{ text: 'Show all clusters', run: () => navigate('/live') }}
      />
    );
  }
  if (!cluster) {
    return (
      <PageSection>
        {connection === 'away' ? (
          <Alert isInline variant="warning" title="The service does not answer. This page goes on when it is back." />
        ) : (
          <Spinner aria-label="Asking for the cluster" />
        )}
      </PageSection>
    );
  }
  const percentage = cluster.progress?.total_percentage ?? 0;
  const records = cluster.dns_records ?? [];
  return (
    <>
      <PageSection>
        <Breadcrumb>
          <BreadcrumbItem render={({ className }) => <Link className={className} to="/live">Live</Link>} />
          <BreadcrumbItem isActive>{cluster.name}</BreadcrumbItem>
        </Breadcrumb>
        {connection === 'away' && (
          <Alert
            isInline
            isLiveRegion
            variant="warning"
            title="The service does not answer: this is what was known last. The page goes on when it is back."
          />
        )}
        <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
          <FlexItem>
            <Title headingLevel="h1">
              {cluster.name} <StatusLabel status={cluster.status} />
            </Title>
            <p role="status">
              OpenShift {cluster.openshift_version} · {cluster.status_info}
            </p>
            {records.length > 0 && (
              <p>DNS records: {records.map(({ name, type, address }) => `${name} ${type} ${address}`).join(' · ')}</p>
            )}
          </FlexItem>
          <FlexItem>
            <Actions cluster={cluster} />
          </FlexItem>
        </Flex>
        {percentage > 0 && <Progress value={percentage} aria-label="Progress of the installation" />}
      </PageSection>
      <PageSection type="tabs">
        <Tabs activeKey={tab} onSelect={(_, key) => navigate(`/live/${clusterId}/${key}`)} aria-label="Views of the cluster">
          {TABS.map(({ key, text }) => (
            <Tab key={key} eventKey={key} tabContentId={VIEW} title={<TabTitleText>{text}</TabTitleText>} />
          ))}
        </Tabs>
      </PageSection>
      <PageSection isFilled>
        <div id={VIEW} role="tabpanel" aria-label={TABS.find(({ key }) => key === tab)?.text}>
          {tab === 'progress' && <Timeline state={state} />}
          {tab === 'validations' && <Validations clusterId={clusterId} state={state} />}
          {tab === 'hosts' && <Hosts clusterId={clusterId} state={state} />}
          {tab === 'events' && <Events state={state} />}
        </div>
      </PageSection>
    </>
  );
}
