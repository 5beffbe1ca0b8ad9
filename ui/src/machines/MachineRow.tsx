import { Alert, Button, Flex, FormSelect, FormSelectOption, Label } from '@patternfly/react-core';
import { Td, Tr } from '@patternfly/react-table';
import { useState } from 'react';
import { api } from '../api/client';
import { type Told, toldOf } from '../api/request';
import type { InfraEnv, Machine, MachineAction } from '../api/types';
import { FailureAlert } from '../common/FailureAlert';
import { clock } from '../common/time';
import { useAsked } from '../common/useAsked';

const WHAT: Record<string, string> = { on: 'Switch on', off: 'Switch off', reset: 'Restart', boot: 'Boot the image' };

interface MachineRowProps {
  machine: Machine;
  infraEnvs: InfraEnv[];
  /** To be called when something was asked for. */
  onChange: () => void;
}

/** One machine: whether it is on, what was asked of it last, and what can be asked. */
export function MachineRow({ machine, infraEnvs, onChange }: MachineRowProps) {
  const { id, name, system, action } = machine;
  const [chosen, setChosen] = useState('');
  const [failure, setFailure] = useState<Told | null>(null);
  const [isAsking, setIsAsking] = useState(false);
  const isBusy = isAsking || action?.state === 'running';
  // Its controller is asked anew when an action has ended.
  const { value: seen, error } = useAsked((signal) => api.machine(id, signal), `${id} ${action?.state} ${action?.started_at}`);
  const infraEnv = chosen || infraEnvs[0]?.id;
  const ask = (request: Promise<unknown>) => {
    setFailure(null);
    setIsAsking(true);
    request
      .then(onChange, (thrown: unknown) => setFailure(toldOf(thrown)))
      .finally(() => setIsAsking(false));
  };
  return (
    <Tr>
      <Td dataLabel="Name">
        {name}
        <br />
        <small>{system}</small>
      </Td>
      <Td dataLabel="Power">
        <Power power={seen?.power} problem={seen?.problem ?? error?.text} />
      </Td>
      <Td dataLabel="Last action">
        {action && <Last action={action} />}
        {failure && <FailureAlert failure={failure} />}
      </Td>
      <Td dataLabel="Actions">
        <Flex gap={{ default: 'gapSm' }}>
          {(['on', 'off', 'reset'] as const).map((power) => (
            <Button key={power} size="sm" variant="secondary" isDisabled={isBusy} aria-label={`${WHAT[power]} ${name}`} onClick={() => ask(api.switchMachine(id, power))}>
              {WHAT[power]}
            </Button>
          ))}
          {infraEnv && (
            <>
              <FormSelect className="app-narrow" aria-label={`Image for ${name}`} value={infraEnv} onChange={(_, value) => setChosen(value)}>
                {infraEnvs.map((one) => (
                  <FormSelectOption key={one.id} value={one.id} label={one.name} />
                ))}
              </FormSelect>
              <Button size="sm" isDisabled={isBusy} aria-label={`${WHAT.boot} on ${name}`} onClick={() => ask(api.bootMachine(id, infraEnv))}>
                {WHAT.boot}
              </Button>
            </>
          )}
          <Button size="sm" variant="link" isDanger isDisabled={isBusy} aria-label={`Forget ${name}`} onClick={() => ask(api.removeMachine(id))}>
            Forget
          </Button>
        </Flex>
      </Td>
    </Tr>
  );
}

function Power({ power, problem }: { power: string | undefined; problem: string | undefined }) {
  if (problem) return <Alert isInline isPlain variant="warning" title={problem} />;
  if (!power) return <small>is asked for</small>;
  return (
    <Label isCompact color={power === 'On' ? 'green' : 'grey'}>
      {power}
    </Label>
  );
}

function Last({ action }: { action: MachineAction }) {
  const { what, state, started_at, message } = action;
  const told = `${WHAT[what] ?? what}, ${clock(started_at)}: ${state}`;
  if (state === 'failed') return <Alert isInline isPlain variant="danger" title={`${told}: ${message ?? ''}`} />;
  return (
    <span role="status">
      {told}
      {message && `, ${message}`}
    </span>
  );
}
