import type { Cluster, Event, Host } from '../api/types';
import { moment } from '../common/time';

/** A stage from its beginning to its end. */
export interface Span {
  stage: string;
  from: number;
  /** None while it goes on. */
  to: number | null;
}

export interface TimeLine {
  /** Of the host, or of the cluster. */
  name: string;
  spans: Span[];
}

const HOST_STAGE = /reached installation stage ([^:]+)/;
const CLUSTER_STATUS = /Updated status of the cluster to ([\w-]+)/;
const FINALIZING_STAGE = /Updated finalizing stage of the cluster to '([^']+)'/;

/** Statuses in which an installation is under way, as people read them. */
const UNDER_WAY: Record<string, string> = {
  'preparing-for-installation': 'Preparing',
  installing: 'Installing',
  'installing-pending-user-action': 'Waiting for somebody',
  finalizing: 'Finalizing',
};

const LAST_STAGES = ['Done', 'Failed'];

/** The stages that a host has gone through since the installation began. */
export function hostSpans(host: Host, events: Event[], since: number): Span[] {
  const reached = marks(events, since, (event) =>
    event.host_id === host.id ? HOST_STAGE.exec(event.message)?.[1]?.trim() : undefined,
  );
  const { current_stage, stage_started_at } = host.progress ?? {};
  const began = moment(stage_started_at);
  if (current_stage && began !== null && began >= since && reached.at(-1)?.stage !== current_stage) {
    reached.push({ stage: current_stage, at: began });
  }
  return spans(reached, (stage) => LAST_STAGES.includes(stage));
}

/** The stages of the cluster: its statuses, and within the last of them what the end waits for. */
export function clusterSpans(cluster: Cluster, events: Event[], since: number): Span[] {
  const reached = marks(events, since, (event) => {
    const status = CLUSTER_STATUS.exec(event.message)?.[1];
    const stage = FINALIZING_STAGE.exec(event.message)?.[1];
    return status !== undefined ? (UNDER_WAY[status] ?? status) : stage;
  });
  if (reached[0]?.stage !== UNDER_WAY['preparing-for-installation']) {
    reached.unshift({ stage: UNDER_WAY['preparing-for-installation'] ?? '', at: since });
  }
  const isOver = !(cluster.status in UNDER_WAY);
  const end = moment(cluster.install_completed_at) ?? moment(cluster.status_updated_at);
  const known = Object.values(UNDER_WAY);
  const found = spans(reached, (stage) => !known.includes(stage) && !FINALIZING_STAGES.has(stage));
  const last = found.at(-1);
  if (isOver && last && last.to === null) last.to = Math.max(end ?? last.from, last.from);
  return found;
}

const FINALIZING_STAGES = new Set([
  'Waiting for cluster operators',
  'Adding router ca',
  'Applying olm manifests',
  'Waiting for olm operators csv initialization',
  'Waiting for olm operators csv',
  'Waiting for OLM operator setup jobs',
]);

interface Mark {
  stage: string;
  at: number;
}

/** When each stage was first told, in order; a stage that is told again goes on. */
function marks(events: Event[], since: number, stageOf: (event: Event) => string | undefined): Mark[] {
  const found: Mark[] = [];
  for (const event of [...events].reverse()) {
    const [stage, at] = [stageOf(event), Date.parse(event.event_time)];
    if (stage !== undefined && at >= since && found.at(-1)?.stage !== stage) found.push({ stage, at });
  }
  return found;
}

/** Each stage ends where the next begins; one that is the last of all takes no time. */
function spans(reached: Mark[], isLast: (stage: string) => boolean): Span[] {
  return reached.map(({ stage, at }, index) => {
    const next = reached[index + 1];
    return { stage, from: at, to: next?.at ?? (isLast(stage) ? at : null) };
  });
}

/** How long each stage took, the longest first. */
export function minutes(found: Span[], now: number): { stage: string; took: number }[] {
  const sums = new Map<string, number>();
  for (const { stage, from, to } of found) sums.set(stage, (sums.get(stage) ?? 0) + (to ?? now) - from);
  return [...sums]
    .map(([stage, took]) => ({ stage, took }))
    .filter(({ took }) => took >= 500)
    .sort((one, other) => other.took - one.took);
}
