import {
  Api,
  ClusterPage,
  Clusters,
  Features,
  NewClusterPage,
  Store,
  useFeatureDetection,
} from '@openshift-assisted/ui-lib/ocm';
import { Banner } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Provider } from 'react-redux';
import { Link, useParams } from 'react-router-dom-v5-compat';
import { tellSignedOut } from '../api/request';

/** The part of the library's HTTP clients that is used here. */
interface HttpClient {
  interceptors: {
    response: { use: (ok: (answer: unknown) => unknown, failed: (error: unknown) => unknown) => number };
  };
}

// The library polls: it is the first to learn that a session has ended.
for (const client of [Api.client, Api.clientWithoutCaseConverter] as unknown as HttpClient[]) {
  client.interceptors.response.use(
    (answer) => answer,
    (error: unknown) => {
      if ((error as { response?: { status?: number } }).response?.status === 401) tellSignedOut();
      return Promise.reject(error);
    },
  );
}

/** What the library's pages need around them. */
export function LibraryProvider({ children }: { children: ReactNode }) {
  return (
    <Provider store={Store.storeDay1}>
      <FeatureDetection />
      {children}
    </Provider>
  );
}

function FeatureDetection() {
  useFeatureDetection(Features.STANDALONE_DEPLOYMENT_ENABLED_FEATURES);
  return null;
}

export function LibraryClusters() {
  return <Clusters />;
}

export function LibraryNewCluster() {
  return (
    <div className="library-new">
      <NewClusterPage />
    </div>
  );
}

export function LibraryCluster() {
  const { clusterId = '' } = useParams();
  return (
    <>
      <Banner screenReaderText="Another view:">
        <Link to={`/live/${clusterId}`}>
          Live view: stages with their times, validations with what to do, hosts, events
        </Link>
      </Banner>
      <ClusterPage />
    </>
  );
}
