import { Button, Flex, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useState } from 'react';
import { Link } from 'react-router-dom-v5-compat';
import { api } from '../api/client';
import { type Told, toldOf } from '../api/request';
import { FailureAlert } from '../common/FailureAlert';
import type { Cluster } from '../api/types';
import { useSession } from '../session/Session';

const UNDER_WAY = ['preparing-for-installation', 'installing', 'finalizing', 'installing-pending-user-action'];
const TO_RESET = [...UNDER_WAY, 'error', 'cancelled'];
const INSTALLED = ['installed', 'adding-hosts'];

/** Something that is not undone, and what to know before. */
interface Question {
  title: string;
  text: string;
  act: (id: string) => Promise<unknown>;
}

const CANCEL: Question = {
  title: 'Cancel the installation?',
  text: 'The hosts stop where they are. The installation can not go on from there: reset the cluster to begin anew.',
  act: api.cancel,
};
const RESET: Question = {
  title: 'Reset the cluster?',
  text: 'The hosts go back to discovery, and what was installed on them so far is lost.',
  act: api.reset,
};

/** What can be done with a cluster in its present state. */
export function Actions({ cluster }: { cluster: Cluster }) {
  const { mayChange } = useSession();
  const [question, setQuestion] = useState<Question | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<Told | null>(null);
  const run = (act: (id: string) => Promise<unknown>) => {
    setIsBusy(true);
    setProblem(null);
    act(cluster.id)
      .catch((error: unknown) => setProblem(toldOf(error)))
      .finally(() => {
        setIsBusy(false);
        setQuestion(null);
      });
  };
  const is = (statuses: string[]) => statuses.includes(cluster.status);
  return (
    <>
      <Flex gap={{ default: 'gapSm' }}>
        <Button variant="link" component={(props) => <Link {...props} to={`/clusters/${cluster.id}`} />}>
          Settings
        </Button>
        <Button variant="secondary" isDisabled={isBusy} onClick={() => run(api.saveLogs)}>
          Save logs
        </Button>
        {mayChange && is(INSTALLED) && (
          <Button isDisabled={isBusy} onClick={() => run(api.saveKubeconfig)}>
            Save kubeconfig
          </Button>
        )}
        {mayChange && is(UNDER_WAY) && (
          <Button variant="danger" isDisabled={isBusy} onClick={() => setQuestion(CANCEL)}>
            Cancel installation
          </Button>
        )}
        {mayChange && is(TO_RESET) && (
          <Button variant="secondary" isDanger isDisabled={isBusy} onClick={() => setQuestion(RESET)}>
            Reset
          </Button>
        )}
      </Flex>
      {problem && <FailureAlert failure={problem} />}
      <Modal variant="small" isOpen={question !== null} onClose={() => setQuestion(null)} aria-labelledby="question" aria-describedby="answer">
        <ModalHeader title={question?.title} labelId="question" />
        <ModalBody id="answer">{question?.text}</ModalBody>
        <ModalFooter>
          <Button variant="danger" isLoading={isBusy} isDisabled={isBusy} onClick={() => question && run(question.act)}>
            Yes
          </Button>
          <Button variant="link" onClick={() => setQuestion(null)}>
            No
          </Button>
        </ModalFooter>
      </Modal>
    </>
  );
}
