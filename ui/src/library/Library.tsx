import {
  ClusterPage,
  Clusters,
  Features,
  NewClusterPage,
  Store,
  useFeatureDetection,
} from '@openshift-assisted/ui-lib/ocm';
import { Banner } from '@patternfly/react-core';
import { type ReactNode, useEffect } from 'react';
import { Provider } from 'react-redux';
import { Link, Navigate, useParams } from 'react-router-dom-v5-compat';
import { useSession } from '../session/Session';
import { Refused } from './Refused';

/** What the library's pages need around them. */
export function LibraryProvider({ children }: { children: ReactNode }) {
  return (
    <Provider store={Store.storeDay1}>
      <FeatureDetection />
      <Permissions />
      {children}
    </Provider>
  );
}

function FeatureDetection() {
  useFeatureDetection(Features.STANDALONE_DEPLOYMENT_ENABLED_FEATURES);
  return null;
}

/** The type of the action by which the library's store learns what may be done with a cluster. */
const UPDATE_PERMISSIONS = 'currentCluster/updateClusterPermissions';

/** Lets viewers look and no more: the library forgets it with each cluster, so it is said again whenever that happens. */
function Permissions() {
  const { mayChange } = useSession();
  useEffect(() => {
    if (mayChange) return undefined;
    const store = Store.storeDay1;
    const restrict = () => {
      if (store.getState().currentCluster.permissions.isViewerMode) return;
      store.dispatch({ type: UPDATE_PERMISSIONS, payload: { isViewerMode: true } });
    };
    restrict();
    const unsubscribe = store.subscribe(restrict);
    return () => {
      unsubscribe();
      store.dispatch({ type: UPDATE_PERMISSIONS, payload: { isViewerMode: false } });
    };
  }, [mayChange]);
  return null;
}

/** Who may only look gets the list of the live view: the library's has buttons that make and delete. */
export function LibraryClusters() {
  const { mayChange } = useSession();
  if (!mayChange) return <Navigate to="/live" replace />;
  return (
    <>
      <Refused />
      <Clusters />
    </>
  );
}

export function LibraryNewCluster() {
  const { mayChange } = useSession();
  if (!mayChange) return <Navigate to="/live" replace />;
  return (
    <>
      <Refused />
      <div className="library-new">
        <NewClusterPage />
      </div>
    </>
  );
}

export function LibraryCluster() {
  const { clusterId = '' } = useParams();
  return (
    <>
      <Refused />
      <Banner screenReaderText="Another view:">
        <Link to={`/live/${clusterId}`}>
          Live view: stages with their times, validations with what to do, hosts, events
        </Link>
      </Banner>
      <ClusterPage />
    </>
  );
}
