import { useCallback, useEffect, useRef, useState } from 'react';
import { api } from '../api/client';
import { type Told, toldOf } from '../api/request';
import type { ImageState } from '../api/types';

const SHORTEST_MS = 1000;
const LONGEST_MS = 10_000;

interface Image {
  image: ImageState | null;
  url: string;
  error: Told | null;
  /** Whether the download begins as soon as the image is ready. */
  isWaiting: boolean;
  download: () => void;
  stop: () => void;
}

/**
 * Downloads an image once it is ready. The browser is led to its address only then: before, the answer would be an error in
 * place of this page.
 */
export function useImage(infraEnvId: string): Image {
  const [image, setImage] = useState<ImageState | null>(null);
  const [url, setUrl] = useState('');
  const [error, setError] = useState<Told | null>(null);
  const [isWaiting, setIsWaiting] = useState(false);
  const abort = useRef<AbortController | null>(null);

  const stop = useCallback(() => {
    abort.current?.abort();
    setIsWaiting(false);
  }, []);
  useEffect(() => () => abort.current?.abort(), []);

  const download = () => {
    const { signal } = (abort.current = new AbortController());
    setError(null);
    setIsWaiting(true);
    const follow = async () => {
      for (;;) {
        const found = await api.imageState(infraEnvId, signal);
        setImage(found);
        if (found.state === 'waiting') {
          await pause(found.retry_after_seconds ?? 0, signal);
          continue;
        }
        // Signed anew: the last one may have expired meanwhile.
        const address = (await api.imageUrl(infraEnvId)).url;
        setUrl(address);
        if (found.state === 'ready') begin(address);
        return;
      }
    };
    follow()
      .catch((thrown: unknown) => signal.aborted || setError(toldOf(thrown)))
      .finally(() => signal.aborted || setIsWaiting(false));
  };
  return { image, url, error, isWaiting, download, stop };
}

/** Has the browser save what is at an address; the page stays. */
function begin(address: string) {
  const link = document.createElement('a');
  link.href = address;
  link.download = '';
  link.click();
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    window.setTimeout(resolve, Math.min(LONGEST_MS, Math.max(SHORTEST_MS, seconds * 1000)));
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
  });
}

/** Whether an address leads to the machine of the browser, while the page comes from another one. */
export function isNearOnly(address: string): boolean {
  const near = /^(127\.|localhost$|\[::1\]$)/;
  return near.test(new URL(address).hostname) && !near.test(window.location.hostname);
}
