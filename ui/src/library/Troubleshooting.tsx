import { CodeBlock, CodeBlockCode, List, ListComponent, ListItem, OrderType } from '@patternfly/react-core';

/** What to look at where a machine does not appear. The library's own list names services and programs that are not used here. */
export function Troubleshooting() {
  return (
    <List component={ListComponent.ol} type={OrderType.number}>
      <ListItem>The machine is on, and boots the image of this cluster. It appears here some minutes after it has started.</ListItem>
      <ListItem>It has an address: from a DHCP server, or by the static addresses that the image was made with.</ListItem>
      <ListItem>
        You can log in to it, with the SSH key that the image was made with:
        <Command text="ssh -i IDENTITY_FILE core@ADDRESS" />
      </ListItem>
      <ListItem>
        The agent runs there, and reaches this service. Its unit tells which address it goes to, and what came of that:
        <Command text="sudo journalctl -u agent.service" />
        That address is in the image. Where it is good on the machine of the service only, start the service with SERVICE_BASE_URL set to
        one that other machines reach, and make the image anew.
      </ListItem>
      <ListItem>
        What the agent does for the service goes well:
        <Command text="sudo journalctl TAG=agent" />
      </ListItem>
      <ListItem>
        There is more under{' '}
        <a href="/docs/troubleshooting" target="_blank" rel="noreferrer">
          Troubleshooting
        </a>
        .
      </ListItem>
    </List>
  );
}

function Command({ text }: { text: string }) {
  return (
    <CodeBlock>
      <CodeBlockCode>{text}</CodeBlockCode>
    </CodeBlock>
  );
}
