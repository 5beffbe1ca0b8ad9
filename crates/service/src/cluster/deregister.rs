//! A cluster is removed (service-api §4.9).

use assisted_core::admission::precondition::{Operation, check};
use assisted_core::decide::dns;
use assisted_core::decide::host::binding::release_host;
use assisted_core::decide::host::registration::deregistered;
use assisted_core::decide::measure::of_host_of_deregistered;
use assisted_core::model::event::catalogue;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_store::{Deleted, Due};
use assisted_wire::id::{ClusterId, InfraEnvId};

use super::Clusters;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_cluster;
use crate::unit_of_work::UnitOfWork;
use crate::{Caller, Error};

impl Clusters {
    /// Removes a cluster. Hosts of its own infra-envs go with it; others go back to their pools.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 409 while it is being installed, 500 when an account service does not end its subscription.
    pub async fn deregister(&self, caller: &Caller, cluster_id: ClusterId) -> Result<(), Error> {
        self.end_subscription(cluster_id).await?;
        attempt!(self.database, caller, self.try_deregister(caller, cluster_id))
    }

    pub(super) async fn try_deregister(&self, caller: &Caller, id: ClusterId) -> Result<(), AttemptError> {
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        self.deregister_loaded(work, id).await
    }

    /// Removes a cluster that was loaded.
    pub(crate) async fn deregister_loaded(
        &self,
        mut work: UnitOfWork,
        id: ClusterId,
    ) -> Result<(), AttemptError> {
        let mut record = work.cluster().cloned().ok_or_else(no_cluster)?;
        check(Operation::Deregister, &record.cluster).map_err(|refusal| {
            let event = catalogue::CLUSTER_DEREGISTER_FAILED.of_cluster(id, &[("error", &refusal.reason)]);
            RefusalWithEvents::with_event(refusal, event)
        })?;
        let keys: Vec<HostKey> =
            work.facts.hosts.iter().map(assisted_core::model::facts::HostFacts::key).collect();
        let left: Vec<_> = work.facts.hosts.iter().flat_map(of_host_of_deregistered).collect();
        for key in keys {
            let Some(host) = work.host(key) else { continue };
            let own = work.infra_env(key.infra_env_id).is_none_or(|own| own.infra_env.cluster_id == Some(id));
            // A host that can't leave its state can't outlive its cluster either.
            match release_host(host, work.facts.now).ok().filter(|_| !own) {
                Some(outcome) => {
                    work.merge(outcome);
                    work.unbind_host(key);
                }
                None => {
                    let event = deregistered(host);
                    work.events.push(event);
                    work.remove_host(key);
                }
            }
        }
        work.measured.extend(left);
        let now = work.facts.now;
        record.cluster.deleted_at = Some(now.into());
        record.cluster.monitored_operators = Some(Vec::new());
        record.cluster.cluster_networks = Some(Vec::new());
        record.cluster.service_networks = Some(Vec::new());
        record.cluster.machine_networks = Some(Vec::new());
        if let Some(action) = dns::delete(&record) {
            work.batch.enqueue(&action, now);
        }
        work.put_cluster(record);
        work.batch.clear_due(Due::Cluster(id));
        if let Some(twin) = self.database.reader().infra_env(InfraEnvId(id.0)).await? {
            work.remove_infra_env(InfraEnvId(id.0), twin.version);
        }
        work.events.push(catalogue::CLUSTER_DEREGISTERED.of_cluster(id, &[]));
        work.commit(&self.database).await?;
        self.database.metrics().release_cluster(id);
        Ok(())
    }
}
