import { EmptyState, EmptyStateBody, ExpandableSection, Title } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { duration, moment } from '../common/time';
import { useNow } from '../common/useNow';
import { hostName, sortedHosts } from './hosts';
import { type Span, type TimeLine, clusterSpans, hostSpans, minutes } from './spans';
import type { LiveState } from './state';

const COLOURS = 6;

/** One line for the cluster and for each host: which stage took which part of the time. */
export function Timeline({ state }: { state: LiveState }) {
  const { cluster, hosts, events } = state;
  const since = moment(cluster?.install_started_at);
  const completed = moment(cluster?.install_completed_at);
  // An earlier attempt may have ended before this one began.
  const isRunning = since !== null && (completed === null || completed < since);
  const now = useNow(isRunning);
  if (!cluster || since === null) {
    return (
      <EmptyState titleText="The installation has not begun" headingLevel="h2">
        <EmptyStateBody>Once it has, each host and the cluster have a line here, with what takes the time.</EmptyStateBody>
      </EmptyState>
    );
  }
  const lines: TimeLine[] = [
    { name: cluster.name, spans: clusterSpans(cluster, events, since) },
    ...sortedHosts(hosts).map((host) => ({ name: hostName(host), spans: hostSpans(host, events, since) })),
  ];
  const ends = lines.flatMap(({ spans }) => spans.map(({ from, to }) => to ?? Math.max(now, from)));
  const scale = { since, until: Math.max(since + 1000, ...ends) };
  const colours = new Map([...new Set(lines.flatMap(({ spans }) => spans.map(({ stage }) => stage)))].map((stage, index) => [stage, index]));
  return (
    <section aria-labelledby="timeline-title">
      <Title headingLevel="h2" id="timeline-title">
        {duration(scale.until - scale.since)} {isRunning ? 'so far' : 'in all'}
      </Title>
      <Table variant="compact" borders={false} aria-label="Stages with their times" className="timeline">
        <Thead>
          <Tr>
            <Th width={20}>Host</Th>
            <Th>Stages</Th>
            <Th width={20}>Now</Th>
          </Tr>
        </Thead>
        <Tbody>
          {lines.map((line, index) => (
            <Tr key={index === 0 ? 'cluster' : `${line.name} ${index}`}>
              <Th dataLabel="Host">{index === 0 ? `Cluster ${line.name}` : line.name}</Th>
              <Td dataLabel="Stages">
                <Bar line={line} scale={scale} now={now} colours={colours} />
                <ExpandableSection toggleText="Where the minutes went" displaySize="default">
                  <ul>
                    {minutes(line.spans, now).map(({ stage, took }) => (
                      <li key={stage}>
                        {stage}: {duration(took)}
                      </li>
                    ))}
                  </ul>
                </ExpandableSection>
              </Td>
              <Td dataLabel="Now">{present(line.spans, now)}</Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
    </section>
  );
}

function present(spans: Span[], now: number): string {
  const last = spans.at(-1);
  if (!last) return 'has not begun';
  return last.to === null ? `${last.stage}, for ${duration(now - last.from)}` : last.stage;
}

interface BarProps {
  line: TimeLine;
  scale: { since: number; until: number };
  now: number;
  colours: Map<string, number>;
}

function Bar({ line, scale, now, colours }: BarProps) {
  const whole = scale.until - scale.since;
  const percent = (length: number) => `${Math.max(0, (100 * length) / whole)}%`;
  const told = minutes(line.spans, now).map(({ stage, took }) => `${stage} ${duration(took)}`);
  const first = line.spans[0]?.from ?? scale.until;
  return (
    <div className="timeline-bar" role="img" aria-label={`${line.name}: ${told.join(', ') || 'no stage yet'}`}>
      <div style={{ width: percent(first - scale.since) }} />
      {line.spans.map(({ stage, from, to }) => {
        const colour = stage === 'Failed' ? 'failed' : (colours.get(stage) ?? 0) % COLOURS;
        return (
          <div
            key={`${stage} ${from}`}
            className={`timeline-span timeline-${colour}${to === null ? ' is-running' : ''}`}
            style={{ width: percent((to ?? now) - from) }}
            title={`${stage}: ${duration((to ?? now) - from)}`}
          />
        );
      })}
    </div>
  );
}
