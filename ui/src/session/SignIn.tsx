import { ActionGroup, Alert, Button, Form, FormGroup, LoginPage, TextInput } from '@patternfly/react-core';
import { type FormEvent, useState } from 'react';
import { PROVIDER_LOGIN, api } from '../api/client';
import { type Told, toldOf } from '../api/request';
import type { LoginMethods } from '../api/types';
import { FailureAlert } from '../common/FailureAlert';

interface SignInProps {
  methods: LoginMethods;
  /** Whether somebody was in until now. */
  hasEnded: boolean;
  onIn: () => void;
}

/** The code of the link that `assisted up` has printed. It leaves the address, so that no history keeps it. */
function codeOfLink(): string {
  const found = /^#setup=(.+)$/.exec(window.location.hash);
  if (!found) return '';
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return found[1] ?? '';
}

/** Logging in by name and password or by the identity provider, and making the first administrator by a code. */
export function SignIn({ methods, hasEnded, onIn }: SignInProps) {
  const [linked] = useState(codeOfLink);
  const [isSetUp, setIsSetUp] = useState(linked !== '');
  const [code, setCode] = useState(linked);
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<Told | null>(null);
  const [isBusy, setIsBusy] = useState(false);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    setIsBusy(true);
    setProblem(null);
    const asked = isSetUp ? api.setUp(code.trim(), name, password) : api.login(name, password);
    asked.then(onIn, (error: unknown) => setProblem(toldOf(error))).finally(() => setIsBusy(false));
  };

  return (
    <LoginPage loginTitle={isSetUp ? 'Make the first administrator' : 'Log in to assisted'} textContent="Installs OpenShift on bare metal.">
      <Form onSubmit={submit}>
        {hasEnded && <Alert isInline variant="info" title="Your session has ended. Log in again to go on where you were." />}
        {problem && <FailureAlert failure={problem} />}
        {isSetUp && (
          <FormGroup label="Code that the service has printed" fieldId="code" isRequired>
            <TextInput id="code" isRequired value={code} autoComplete="off" onChange={(_, value) => setCode(value)} />
          </FormGroup>
        )}
        <FormGroup label="Name" fieldId="name" isRequired>
          <TextInput id="name" isRequired value={name} autoComplete="username" onChange={(_, value) => setName(value)} />
        </FormGroup>
        <FormGroup label={isSetUp ? 'Password, of at least 12 characters' : 'Password'} fieldId="password" isRequired>
          <TextInput
            id="password"
            type="password"
            isRequired
            value={password}
            autoComplete={isSetUp ? 'new-password' : 'current-password'}
            onChange={(_, value) => setPassword(value)}
          />
        </FormGroup>
        <ActionGroup>
          <Button type="submit" isBlock isLoading={isBusy} isDisabled={isBusy || !name || !password}>
            {isSetUp ? 'Make administrator' : 'Log in'}
          </Button>
          {methods.provider && !isSetUp && (
            <Button component="a" href={PROVIDER_LOGIN} variant="secondary" isBlock>
              Log in by the identity provider
            </Button>
          )}
          <Button variant="link" isBlock onClick={() => setIsSetUp(!isSetUp)}>
            {isSetUp ? 'Log in instead' : 'I have a code of the first start'}
          </Button>
        </ActionGroup>
      </Form>
    </LoginPage>
  );
}
