import { useEffect, useReducer } from 'react';
import { api } from '../api/client';
import { watch } from '../api/watch';
import { type LiveState, NOTHING, reduced } from './state';

/** Follows a cluster: its present state, and the events that it has had. */
export function useLive(clusterId: string): LiveState {
  const [state, dispatch] = useReducer(reduced, NOTHING);
  useEffect(() => {
    const abort = new AbortController();
    const readEvents = () =>
      api.events(clusterId, abort.signal).then(
        (events) => dispatch({ kind: 'events', events }),
        // The connection tells that the service is away.
        () => undefined,
      );
    const end = watch(
      clusterId,
      (change) => {
        dispatch({ kind: 'change', change });
        // What happened while nobody listened.
        if (change.kind === 'reset') void readEvents();
      },
      (connection) => dispatch({ kind: 'connection', connection }),
    );
    return () => {
      abort.abort();
      end();
    };
  }, [clusterId]);
  return state;
}
