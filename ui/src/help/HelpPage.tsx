import { Content, PageSection, Title } from '@patternfly/react-core';

/** What the links of the forms lead to: everything that is needed is on this machine. */
export function HelpPage() {
  return (
    <PageSection isFilled>
      <Content>
        <Title headingLevel="h1">Help</Title>
        <h2>Installing a cluster</h2>
        <ol>
          <li>Make a cluster under <em>Clusters</em>: a name, a base domain, a version and a pull secret.</li>
          <li>Under <em>Host discovery</em>, get the image and boot the machines from it. They appear by themselves.</li>
          <li>Whatever keeps a host from being installed stands under <em>Live</em>, <em>Validations</em>, with what to do.</li>
          <li>Press <em>Install</em>, and follow the stages under <em>Live</em>. At the end the kubeconfig can be saved there.</li>
        </ol>
        <h2>Pull secret</h2>
        <p>
          Hosts download the parts of OpenShift from registries that ask who they are. A pull secret is the JSON text with the log-ins:
          it comes from whoever gives you OpenShift, or from the administrator of your mirror registry. OKD needs none; there, a text
          such as <code>{'{"auths":{"quay.io":{"auth":"bm9uZTpub25l"}}}'}</code> takes its place.
        </p>
        <h2>More</h2>
        <ul>
          <li>
            <a href="/docs">The REST API</a> of this service
          </li>
          <li>
            <a href="/docs/troubleshooting">Troubleshooting</a>: what each validation says, and what to do; and{' '}
            <a href="/docs/errors">what errors mean</a>
          </li>
          <li>
            The command line: <code>assisted --help</code>
          </li>
          <li>
            <a href="/notices.txt">Licences</a> of what this UI is made of
          </li>
        </ul>
      </Content>
    </PageSection>
  );
}
