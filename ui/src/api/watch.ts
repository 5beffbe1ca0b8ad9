import { api } from './client';
import { ApiError, BASE } from './request';
import type { Cluster, Event, Host } from './types';

/** A message of the stream of changes. */
export type Change =
  | { kind: 'reset' }
  | { kind: 'cluster'; value: Cluster }
  | { kind: 'host'; value: Host }
  | { kind: 'event'; value: Event };

/** Whether changes arrive: `away` while the service can't be reached, `gone` when there is no such cluster. */
export type Connection = 'connecting' | 'live' | 'away' | 'gone';

const RETRY_MS = 2000;

/**
 * Follows a cluster until the function that is returned is called. The browser itself comes back after a break; where the
 * service refuses the stream, it is found out why. A hidden page holds no connection: a browser has six for all its pages.
 */
export function watch(
  clusterId: string,
  onChange: (change: Change) => void,
  onConnection: (connection: Connection) => void,
): () => void {
  let source: EventSource | undefined;
  let timer: number | undefined;
  let ended = false;

  const again = () => {
    if (ended) return;
    timer = window.setTimeout(open, RETRY_MS);
  };
  const ask = () => {
    api.cluster(clusterId).then(again, (error: unknown) => {
      const status = error instanceof ApiError ? error.status : 0;
      onConnection(status === 404 ? 'gone' : 'away');
      // After 401 the page for logging in takes this one's place.
      if (status !== 404 && status !== 401) again();
    });
  };
  const open = () => {
    close();
    if (document.hidden || ended) return;
    const opened = new EventSource(`${BASE}/v2/watch?cluster_id=${clusterId}`);
    source = opened;
    opened.onopen = () => onConnection('live');
    opened.onerror = () => {
      onConnection('away');
      if (opened.readyState === EventSource.CLOSED) ask();
    };
    opened.addEventListener('reset', () => onChange({ kind: 'reset' }));
    for (const kind of ['cluster', 'host', 'event'] as const) {
      opened.addEventListener(kind, (message: MessageEvent<string>) =>
        onChange({ kind, value: JSON.parse(message.data) } as Change),
      );
    }
  };
  const close = () => {
    window.clearTimeout(timer);
    source?.close();
    source = undefined;
  };

  document.addEventListener('visibilitychange', open);
  open();
  return () => {
    ended = true;
    document.removeEventListener('visibilitychange', open);
    close();
  };
}
