//! A cluster's installation is started, cancelled, reset (service-api §4.11).

use assisted_core::decide::install;
use assisted_core::model::facts::Facts;
use assisted_wire::cluster::Cluster;
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::attempt;
use crate::view::host::raw_host;
use crate::{Caller, Error};

impl Clusters {
    /// Starts the installation. What the hosts are installed with is generated afterwards.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, 400 when a host is not ready, 409 when the cluster is not, or when a host is real and this
    /// service simulates, 500 when no host can be bootstrap.
    pub async fn install(&self, caller: &Caller, cluster_id: ClusterId) -> Result<Cluster, Error> {
        let install = |facts: &Facts| Ok(install::install(facts)?);
        let work = attempt!(self.database, caller, self.database.decide(caller, cluster_id, &install))?;
        let mut cluster = Self::response(&work)?;
        cluster.hosts = Some(work.facts.hosts.iter().map(raw_host).collect());
        Ok(cluster)
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
