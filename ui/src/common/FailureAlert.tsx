import { Alert, type AlertProps } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import type { Told } from '../api/request';
import { WhatToDo } from './WhatToDo';

interface FailureAlertProps {
  failure: Told;
  /** What was asked for, where the text does not tell. */
  about?: string;
  variant?: AlertProps['variant'];
  /** What else can be done. */
  action?: ReactNode;
}

/** What went wrong, with a link to the page of the service that says what to do. */
export function FailureAlert({ failure, about, variant = 'danger', action }: FailureAlertProps) {
  const { text, help } = failure;
  return (
    <Alert
      isInline
      isLiveRegion
      variant={variant}
      title={about ? `${about}: ${text}` : text}
      actionLinks={
        (help || action) && (
          <>
            {action}
            {help && <WhatToDo help={help} />}
          </>
        )
      }
    />
  );
}
