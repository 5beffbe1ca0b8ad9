import { Label, Tooltip } from '@patternfly/react-core';

type Level = 'success' | 'danger' | 'warning' | 'info';

const LEVELS: [Level, RegExp][] = [
  ['success', /^(installed|known|known-unbound|ready|added-to-existing-cluster)$/],
  ['danger', /^(error|preparing-failed|failed)$/],
  ['warning', /^(insufficient|insufficient-unbound|disconnected|disconnected-unbound|pending-for-input|cancelled|.*pending-user-action)$/],
];

/** A status with its colour; why it is so is shown to whoever points at it or gets there by the keyboard. */
export function StatusLabel({ status, info }: { status: string; info?: string }) {
  const level = LEVELS.find(([, names]) => names.test(status))?.[0] ?? 'info';
  const label = (
    <Label isCompact status={level} tabIndex={info ? 0 : undefined}>
      {status.replaceAll('-', ' ')}
    </Label>
  );
  return info ? <Tooltip content={info}>{label}</Tooltip> : label;
}
