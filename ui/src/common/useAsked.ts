import { useEffect, useState } from 'react';
import { type Told, toldOf } from '../api/request';

export interface Asked<T> {
  value?: T;
  error?: Told;
}

/** What a request brings; it is sent again whenever `key` changes, and the last value stays meanwhile. */
export function useAsked<T>(ask: (signal: AbortSignal) => Promise<T>, key: string): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({});
  useEffect(() => {
    const abort = new AbortController();
    ask(abort.signal).then(
      (value) => setAsked({ value }),
      (error: unknown) => {
        if (!abort.signal.aborted) setAsked((last) => ({ ...last, error: toldOf(error) }));
      },
    );
    return () => abort.abort();
    // The request is the same as long as its key is.
  }, [key]);
  return asked;
}
