import { Button, EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core';
import { ExclamationCircleIcon } from '@patternfly/react-icons';
import { WhatToDo } from './WhatToDo';

interface ProblemProps {
  title: string;
  text: string;
  /** Where it stands what to do, at the service. */
  help?: string | undefined;
  action?: { text: string; run: () => void };
}

/** A page that can't be shown, why, and what to do. */
export function Problem({ title, text, help, action }: ProblemProps) {
  return (
    <EmptyState titleText={title} headingLevel="h1" icon={ExclamationCircleIcon} status="danger">
      <EmptyStateBody>{text}</EmptyStateBody>
      {(action || help) && (
        <EmptyStateFooter>
          <EmptyStateActions>
            {action && <Button onClick={action.run}>{action.text}</Button>}
            {help && <WhatToDo help={help} />}
          </EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}
