import { Button, Checkbox, Form, FormGroup, FormHelperText, HelperText, HelperTextItem, Modal, ModalBody, ModalFooter, ModalHeader, TextInput } from '@patternfly/react-core';
import { type FormEvent, useState } from 'react';
import { api } from '../api/client';
import { type Told, toldOf } from '../api/request';
import type { NewMachine } from '../api/types';
import { FailureAlert } from '../common/FailureAlert';

const FORM = 'add-machine';
const NOTHING: NewMachine = { name: '', system: '', user: '', password: '', insecure: true };

const FIELDS = [
  { key: 'name', label: 'Name', hint: 'What you call it' },
  { key: 'system', label: 'Address of the system', hint: 'Such as https://192.0.2.1/redfish/v1/Systems/1' },
  { key: 'user', label: 'Account', hint: 'It may change power and virtual media' },
  { key: 'password', label: 'Password', hint: 'It is kept sealed, and shown to nobody' },
] as const;

/** Asks for a machine; the service looks whether its controller takes the account before it keeps it. */
export function AddMachine({ onEnd }: { onEnd: () => void }) {
  const [machine, setMachine] = useState(NOTHING);
  const [failure, setFailure] = useState<Told | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setFailure(null);
    setIsBusy(true);
    api
      .addMachine(machine)
      .then(onEnd, (thrown: unknown) => setFailure(toldOf(thrown)))
      .finally(() => setIsBusy(false));
  };
  return (
    <Modal variant="medium" isOpen onClose={onEnd} aria-labelledby="add-machine-title">
      <ModalHeader title="Add a machine" labelId="add-machine-title" />
      <ModalBody>
        <Form id={FORM} onSubmit={submit}>
          {failure && <FailureAlert failure={failure} />}
          {FIELDS.map(({ key, label, hint }) => (
            <FormGroup key={key} label={label} fieldId={`machine-${key}`} isRequired={key !== 'user' && key !== 'password'}>
              <TextInput
                id={`machine-${key}`}
                type={key === 'password' ? 'password' : 'text'}
                autoComplete={key === 'password' ? 'new-password' : 'off'}
                value={machine[key]}
                aria-describedby={`machine-${key}-hint`}
                onChange={(_, value) => setMachine({ ...machine, [key]: value })}
              />
              <FormHelperText>
                <HelperText>
                  <HelperTextItem id={`machine-${key}-hint`}>{hint}</HelperTextItem>
                </HelperText>
              </FormHelperText>
            </FormGroup>
          ))}
          <Checkbox
            id="machine-insecure"
            label="Take any certificate: most controllers sign their own"
            isChecked={machine.insecure}
            onChange={(_, insecure) => setMachine({ ...machine, insecure })}
          />
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form={FORM} isLoading={isBusy} isDisabled={isBusy || !machine.name || !machine.system}>
          Add
        </Button>
        <Button variant="link" onClick={onEnd}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}
