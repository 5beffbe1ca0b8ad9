import { Button, FormSelect, FormSelectOption, Label, SearchInput, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useState } from 'react';
import type { Event } from '../api/types';
import { clock } from '../common/time';
import { hostName, sortedHosts } from './hosts';
import type { LiveState } from './state';

const PAGE = 100;
const SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
const COLOURS = { info: 'blue', warning: 'orange', error: 'red', critical: 'red' } as const;

/** What happened, the latest first; new events appear by themselves. */
export function Events({ state }: { state: LiveState }) {
  const [severity, setSeverity] = useState('');
  const [host, setHost] = useState('');
  const [words, setWords] = useState('');
  const [most, setMost] = useState(PAGE);
  const least = SEVERITIES.findIndex((one) => one === severity);
  const isWanted = (event: Event) =>
    SEVERITIES.indexOf(event.severity) >= least &&
    (host === '' || event.host_id === host) &&
    event.message.toLowerCase().includes(words.toLowerCase());
  const found = state.events.filter(isWanted);
  return (
    <>
      <Toolbar>
        <ToolbarContent>
          <ToolbarItem>
            <FormSelect aria-label="Severity" value={severity} onChange={(_, value) => setSeverity(value)}>
              <FormSelectOption value="" label="Any severity" />
              {SEVERITIES.slice(1).map((one) => (
                <FormSelectOption key={one} value={one} label={`${one} and worse`} />
              ))}
            </FormSelect>
          </ToolbarItem>
          <ToolbarItem>
            <FormSelect aria-label="Host" value={host} onChange={(_, value) => setHost(value)}>
              <FormSelectOption value="" label="Cluster and all hosts" />
              {sortedHosts(state.hosts).map((one) => (
                <FormSelectOption key={one.id} value={one.id} label={hostName(one)} />
              ))}
            </FormSelect>
          </ToolbarItem>
          <ToolbarItem>
            <SearchInput
              aria-label="Words in the message"
              placeholder="Words in the message"
              value={words}
              onChange={(_, value) => setWords(value)}
              onClear={() => setWords('')}
            />
          </ToolbarItem>
          <ToolbarItem>
            <span role="status">
              {found.length} of {state.events.length} events
            </span>
          </ToolbarItem>
        </ToolbarContent>
      </Toolbar>
      <Table variant="compact" aria-label="Events">
        <Thead>
          <Tr>
            <Th width={10}>Time</Th>
            <Th width={10}>Severity</Th>
            <Th>What happened</Th>
          </Tr>
        </Thead>
        <Tbody>
          {found.slice(0, most).map((event, index) => (
            <Tr key={`${event.event_time} ${event.message} ${index}`}>
              <Td dataLabel="Time" title={event.event_time}>
                {clock(event.event_time)}
              </Td>
              <Td dataLabel="Severity">
                <Label isCompact color={COLOURS[event.severity]}>
                  {event.severity}
                </Label>
              </Td>
              <Td dataLabel="What happened">{event.message}</Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
      {found.length > most && (
        <Button variant="link" onClick={() => setMost(most + PAGE)}>
          Show older ones
        </Button>
      )}
    </>
  );
}
