import { Alert, Button, ClipboardCopy, Label, Progress, ProgressMeasureLocation } from '@patternfly/react-core';
import { Td, Tr } from '@patternfly/react-table';
import { Link } from 'react-router-dom-v5-compat';
import type { ImageState, InfraEnv } from '../api/types';
import { FailureAlert } from '../common/FailureAlert';
import { bytes } from '../common/time';
import { useSession } from '../session/Session';
import { isNearOnly, useImage } from './useImage';

/** What to do where the image service refuses an image, at the service. */
const HELP = '/docs/errors#image-service';

/** One image: how far it is, its address, and the download, which begins by itself as soon as it can. */
export function ImageRow({ infraEnv }: { infraEnv: InfraEnv }) {
  const { mayChange } = useSession();
  const { image, url, error, isWaiting, download, stop } = useImage(infraEnv.id);
  return (
    <Tr>
      <Td dataLabel="Name">
        {infraEnv.cluster_id ? <Link to={`/live/${infraEnv.cluster_id}`}>{infraEnv.name}</Link> : infraEnv.name}
      </Td>
      <Td dataLabel="Kind">
        {infraEnv.type} {infraEnv.openshift_version} {infraEnv.cpu_architecture}
      </Td>
      <Td dataLabel="State">
        {error && <FailureAlert failure={error} />}
        {image ? <State image={image} /> : 'not asked for yet'}
        {url && (
          <>
            <ClipboardCopy isReadOnly hoverTip="Copy" clickTip="Copied" textAriaLabel={`Address of ${infraEnv.name}`}>
              {url}
            </ClipboardCopy>
            {isNearOnly(url) && (
              <Alert
                isInline
                isPlain
                variant="warning"
                title="This address is good on the machine of the service only. Start the service with SERVICE_BASE_URL or IMAGE_SERVICE_BASE_URL set to where machines reach it."
              />
            )}
          </>
        )}
      </Td>
      <Td isActionCell>
        {isWaiting ? (
          <Button variant="secondary" onClick={stop}>
            Do not wait
          </Button>
        ) : (
          mayChange && <Button onClick={download}>Download</Button>
        )}
      </Td>
    </Tr>
  );
}

function State({ image }: { image: ImageState }) {
  const { state, message, error, received_bytes: received, total_bytes: total } = image;
  if (state === 'ready') return <Label isCompact status="success">ready</Label>;
  if (state === 'unknown') return <Alert isInline isPlain variant="info" title={`Whether it is ready is not known: ${message}`} />;
  if (state === 'failed') return <FailureAlert failure={{ text: message ?? 'The image service refuses it.', help: HELP }} />;
  const title = error
    ? "The base image can't be fetched yet; the download begins once it can"
    : 'The base image is on its way; the download begins by itself';
  return (
    <>
      <Progress
        aria-label="Base image"
        title={title}
        variant={error ? 'warning' : undefined}
        value={total ? (100 * (received ?? 0)) / total : 0}
        label={`${bytes(received ?? 0)}${total ? ` of ${bytes(total)}` : ''}`}
        measureLocation={ProgressMeasureLocation.outside}
      />
      <small>{message}</small>
    </>
  );
}
