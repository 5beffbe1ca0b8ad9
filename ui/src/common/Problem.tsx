import { Button, EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core';
import { ExclamationCircleIcon } from '@patternfly/react-icons';

interface ProblemProps {
  title: string;
  text: string;
  action?: { text: string; run: () => void };
}

/** A page that can't be shown, why, and what to do. */
export function Problem({ title, text, action }: ProblemProps) {
  return (
    <EmptyState titleText={title} headingLevel="h1" icon={ExclamationCircleIcon} status="danger">
      <EmptyStateBody>{text}</EmptyStateBody>
      {action && (
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button onClick={action.run}>{action.text}</Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}
