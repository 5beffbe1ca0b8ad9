import { Bullseye, Spinner } from '@patternfly/react-core';
import { type ReactNode, createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { api } from '../api/client';
import { ApiError, type Told, onSignedOut, toldOf } from '../api/request';
import type { LoginMethods, Me } from '../api/types';
import { Problem } from '../common/Problem';
import { SignIn } from './SignIn';

type State =
  | { kind: 'asking' }
  | { kind: 'away'; why: Told }
  /** Nobody logs in at this service. */
  | { kind: 'open' }
  | { kind: 'closed' }
  | { kind: 'out'; methods: LoginMethods; hasEnded: boolean }
  | { kind: 'in'; me: Me };

interface SessionValue {
  /** None where nobody logs in. */
  me: Me | null;
  /** Whether buttons that change something are shown; the service decides whether they work. */
  mayChange: boolean;
  /** Whether pages for administrators are shown. */
  isAdmin: boolean;
  logOut: () => void;
}

const SessionContext = createContext<SessionValue>({ me: null, mayChange: true, isAdmin: true, logOut: () => undefined });

export const useSession = () => useContext(SessionContext);

async function find(): Promise<State> {
  let methods: LoginMethods;
  try {
    methods = await api.loginMethods();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { kind: 'open' };
    return { kind: 'away', why: toldOf(error) };
  }
  try {
    return { kind: 'in', me: await api.me() };
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return { kind: 'out', methods, hasEnded: false };
    return { kind: 'away', why: toldOf(error) };
  }
}

/** Shows the UI to whoever is known, and the page for logging in to everybody else. */
export function Session({ children }: { children: ReactNode }) {
  const [state, setState] = useState<State>({ kind: 'asking' });
  const look = useCallback(() => void find().then(setState), []);

  useEffect(() => {
    look();
    onSignedOut(() => {
      void find().then((found) => {
        if (found.kind === 'out') setState({ ...found, hasEnded: true });
        // Who asks without a log-in is refused: people are let in by other means here.
        else if (found.kind === 'open') setState({ kind: 'closed' });
      });
    });
    return () => onSignedOut(() => undefined);
  }, [look]);

  const me = state.kind === 'in' ? state.me : null;
  const value = useMemo(
    () => ({
      me,
      mayChange: me?.role !== 'viewer',
      isAdmin: me === null || me.role === 'admin',
      logOut: () => void api.logout().catch(() => undefined).then(look),
    }),
    [me, look],
  );

  switch (state.kind) {
    case 'asking':
      return (
        <Bullseye>
          <Spinner aria-label="Asking the service" />
        </Bullseye>
      );
    case 'away':
      return <Problem title="The service does not answer" {...state.why} action={{ text: 'Try again', run: look }} />;
    case 'closed':
      return (
        <Problem
          title="This service lets nobody in by a browser"
          text="Its setting AUTH_TYPE lets programs in by tokens. Start it with AUTH_TYPE=users to log in here, or use the command line."
          action={{ text: 'Try again', run: look }}
        />
      );
    case 'out':
      return <SignIn methods={state.methods} hasEnded={state.hasEnded} onIn={look} />;
    default:
      return <SessionContext.Provider value={value}>{children}</SessionContext.Provider>;
  }
}
