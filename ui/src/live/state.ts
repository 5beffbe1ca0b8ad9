import type { Change, Connection } from '../api/watch';
import type { Cluster, Event, Host } from '../api/types';

/** What is known of the cluster that is followed. */
export interface LiveState {
  connection: Connection;
  cluster: Cluster | null;
  hosts: Record<string, Host>;
  /** The latest first, none twice. */
  events: Event[];
}

export type Action =
  | { kind: 'change'; change: Change }
  | { kind: 'connection'; connection: Connection }
  | { kind: 'events'; events: Event[] };

export const NOTHING: LiveState = { connection: 'connecting', cluster: null, hosts: {}, events: [] };

const MOST_EVENTS = 5000;

/** What is known after something happened. Changes may be told late: an older one than is known is passed over. */
export function reduced(state: LiveState, action: Action): LiveState {
  switch (action.kind) {
    case 'connection':
      return { ...state, connection: action.connection };
    case 'events':
      return { ...state, events: merged(state.events, action.events) };
    case 'change':
      return changed(state, action.change);
  }
}

function changed(state: LiveState, change: Change): LiveState {
  switch (change.kind) {
    case 'reset':
      return { ...state, hosts: {} };
    case 'cluster':
      if (state.cluster && isOlder(change.value, state.cluster)) return state;
      return {
        ...state,
        cluster: change.value,
        connection: change.value.deleted_at ? 'gone' : state.connection,
      };
    case 'host':
      return { ...state, hosts: withHost(state, change.value) };
    case 'event':
      return { ...state, events: merged(state.events, [change.value]) };
  }
}

function withHost({ hosts, cluster }: LiveState, host: Host): Record<string, Host> {
  const known = hosts[host.id];
  if (known && isOlder(host, known)) return hosts;
  if (host.deleted_at || (cluster && host.cluster_id !== cluster.id)) {
    const { [host.id]: _, ...others } = hosts;
    return others;
  }
  return { ...hosts, [host.id]: host };
}

function isOlder(found: { updated_at: string }, known: { updated_at: string }): boolean {
  return Date.parse(found.updated_at) < Date.parse(known.updated_at);
}

/** Events have no id: they are the same where all that they tell is. */
function key(event: Event): string {
  return [event.event_time, event.name, event.host_id, event.message].join('\n');
}

function merged(known: Event[], found: Event[]): Event[] {
  const all = new Map([...known, ...found].map((event) => [key(event), event]));
  return [...all.values()]
    .sort((one, other) => Date.parse(other.event_time) - Date.parse(one.event_time))
    .slice(0, MOST_EVENTS);
}
