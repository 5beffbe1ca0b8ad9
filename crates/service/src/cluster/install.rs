//! A cluster's installation is started, cancelled, reset (service-api §4.11).

use assisted_core::decide::install;
use assisted_core::model::facts::Facts;
use assisted_store::Deleted;
use assisted_wire::cluster::Cluster;
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_cluster;
use crate::unit_of_work::UnitOfWork;
use crate::view::host::raw_host;
use crate::{Caller, Error};

impl Clusters {
    /// Starts the installation. What the hosts are installed with is generated afterwards.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, 400 when a host is not ready, 409 when the cluster is not, when a host is real and this
    /// service simulates, or when its names in a managed domain are taken, 503 when the DNS server can't be asked, 500 when no host can be bootstrap.
    pub async fn install(&self, caller: &Caller, cluster_id: ClusterId) -> Result<Cluster, Error> {
        let work = attempt!(self.database, caller, self.try_install(caller, cluster_id))?;
        let mut cluster = Self::response(&work)?;
        cluster.hosts = Some(work.facts.hosts.iter().map(raw_host).collect());
        Ok(cluster)
    }

    async fn try_install(&self, caller: &Caller, id: ClusterId) -> Result<UnitOfWork, AttemptError> {
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let decided = install::install(&work.facts)?;
        if let Some(record) = work.cluster() {
            self.dns.check(record).await?;
        }
        work.apply_and_mark(decided);
        Ok(UnitOfWork::new(work.commit(&self.database).await?))
    }

    /// Cancels the installation of a cluster and of its hosts.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, 409 when it or one of its hosts is in a wrong state.
    pub async fn cancel_installation(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
    ) -> Result<Cluster, Error> {
        let cancel = |facts: &Facts| Ok(install::cancel(facts)?);
        let work = attempt!(self.database, caller, self.database.decide(caller, cluster_id, &cancel))?;
        Self::response(&work)
    }

    /// Resets the installation of a cluster and of its hosts. What was generated is deleted afterwards.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, 409 when it or one of its hosts is in a wrong state.
    pub async fn reset(&self, caller: &Caller, cluster_id: ClusterId) -> Result<Cluster, Error> {
        let reset = |facts: &Facts| Ok(install::reset(facts)?);
        let work = attempt!(self.database, caller, self.database.decide(caller, cluster_id, &reset))?;
        Self::response(&work)
    }
}
