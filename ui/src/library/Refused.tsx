import { Api } from '@openshift-assisted/ui-lib/ocm';
import { Button, PageSection } from '@patternfly/react-core';
import { useEffect, useState } from 'react';
import { type Told, helpOf, tellSignedOut } from '../api/request';
import { FailureAlert } from '../common/FailureAlert';

interface Asked {
  method?: string;
}

/** What is read of an error of the library's HTTP clients. */
interface Failed {
  config?: Asked;
  response?: { status: number; headers: { link?: string }; data?: { reason?: string; message?: string } };
}

/** The part of the library's HTTP clients that is used here. */
interface HttpClient {
  interceptors: {
    response: { use: (ok: (answer: { config: Asked }) => unknown, failed: (error: Failed) => unknown) => number };
  };
}

type Tell = (failure: Told | null) => void;
const nobody: Tell = () => undefined;
let tell = nobody;

/** Whether a person has asked for something: what is only read is asked for again and again. */
const isOrder = (asked: Asked | undefined) => asked?.method !== undefined && asked.method.toLowerCase() !== 'get';

for (const client of [Api.client, Api.clientWithoutCaseConverter] as unknown as HttpClient[]) {
  client.interceptors.response.use(
    (answer) => {
      if (isOrder(answer.config)) tell(null);
      return answer;
    },
    (error) => {
      const { config, response } = error;
      // The library polls: it is the first to learn that a session has ended.
      if (response?.status === 401) tellSignedOut();
      else if (response && isOrder(config)) {
        const { status, data, headers } = response;
        const text = data?.reason ?? data?.message ?? `The service answers ${status}.`;
        tell({ text, help: helpOf(headers.link) });
      }
      return Promise.reject(error);
    },
  );
}

/**
 * What the library asked for last, where it was refused: the library tells the reason as well, but not where it stands what to do.
 * It goes away when something else is asked for, and is taken.
 */
export function Refused() {
  const [failure, setFailure] = useState<Told | null>(null);
  useEffect(() => {
    tell = setFailure;
    return () => {
      tell = nobody;
    };
  }, []);
  if (!failure) return null;
  const close = (
    <Button variant="link" isInline onClick={() => setFailure(null)}>
      Close
    </Button>
  );
  return (
    <PageSection stickyOnBreakpoint={{ default: 'top' }} aria-label="What was refused">
      <FailureAlert failure={failure} action={close} />
    </PageSection>
  );
}
