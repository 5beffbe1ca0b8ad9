//! Reading clusters (service-api §4.7, §4.8). Reads change nothing.

use std::collections::BTreeMap;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_store::{ClusterFilter, Deleted, HostFilter, Reports, Stored};
use assisted_wire::cluster::{Cluster, ClusterList};
use assisted_wire::host::{Host, HostStatus};
use assisted_wire::id::{ClusterId, InfraEnvId};
use uuid::Uuid;

use super::Clusters;
use crate::attempt::final_error;
use crate::not_found::no_cluster;
use crate::unit_of_work::UnitOfWork;
use crate::view::cluster::{count_hosts, render_cluster, render_record, render_without_hosts};
use crate::view::host::raw_host;
use crate::{Caller, Error, TokenResource};

/// Which clusters to list.
#[derive(Clone, Debug, Default)]
pub struct ListClusters {
    /// Deleted ones too; administrators only.
    pub get_unregistered_clusters: bool,
    pub openshift_cluster_id: Option<Uuid>,
    /// Unknown ones match nothing.
    pub ams_subscription_ids: Option<Vec<String>>,
    /// With their hosts.
    pub with_hosts: bool,
    pub owner: Option<String>,
}

/// Which cluster to get.
#[derive(Clone, Copy, Debug)]
pub struct GetCluster {
    pub cluster_id: ClusterId,
    /// Also when it is deleted; administrators only.
    pub get_unregistered_clusters: bool,
    pub exclude_hosts: bool,
}

/// Clusters of a list whose hosts are read at a time.
const AT_ONCE: usize = 1000;

const ADMINS_ONLY: &str = "only admin users are allowed to get unregistered clusters";

impl Clusters {
    /// One cluster.
    ///
    /// # Errors
    ///
    /// 404 when there is none; 403 when others than administrators ask for deleted ones.
    pub async fn get(&self, caller: &Caller, query: GetCluster) -> Result<Cluster, Error> {
        let deleted = if query.get_unregistered_clusters { Deleted::Shown } else { Deleted::Hidden };
        if deleted == Deleted::Shown && !caller.is_admin() {
            return Err(Error::Infra { kind: RefusalKind::Forbidden, message: ADMINS_ONLY.to_owned() });
        }
        if query.exclude_hosts {
            let stored =
                self.database.reader().cluster(query.cluster_id, deleted).await?.ok_or_else(no_cluster)?;
            return Ok(render_without_hosts(&stored.record));
        }
        let work = self
            .database
            .load_cluster(query.cluster_id, deleted)
            .await
            .map_err(final_error)?
            .ok_or_else(no_cluster)?;
        Self::response(&work)
    }

    /// The full answer for loaded work.
    pub(crate) fn response(work: &UnitOfWork) -> Result<Cluster, Error> {
        let record = work.cluster().ok_or_else(no_cluster)?;
        // A legacy layout: the image of an infra-env that has the cluster's own id.
        let image = work.infra_env(InfraEnvId(record.cluster.id.0));
        let mut cluster = render_cluster(&work.facts, record, image.map(|image| &image.infra_env));
        cluster.operator_bundles.get_or_insert_default();
        Ok(cluster)
    }

    /// The clusters that the caller may see.
    ///
    /// # Errors
    ///
    /// 403 when others than administrators ask for deleted ones.
    pub async fn list(&self, caller: &Caller, query: ListClusters) -> Result<ClusterList, Error> {
        let found = self.find(caller, &query).await?;
        let mut clusters = Vec::with_capacity(found.len());
        for part in found.chunks(AT_ONCE) {
            clusters.extend(self.list_part(part, &query).await?);
        }
        Ok(ClusterList(clusters))
    }

    /// The same as they are stored, so that they can be listed part by part.
    ///
    /// # Errors
    ///
    /// 403 when others than administrators ask for deleted ones.
    pub async fn find(
        &self,
        caller: &Caller,
        query: &ListClusters,
    ) -> Result<Vec<Stored<ClusterRecord>>, Error> {
        let deleted = deleted_of(query);
        if deleted == Deleted::Shown && !caller.is_admin() {
            return Err(Refusal::new(RefusalKind::Forbidden, ADMINS_ONLY).into());
        }
        let (user_name, org_id) = caller.lists();
        let filter = ClusterFilter {
            deleted,
            openshift_cluster_id: query.openshift_cluster_id,
            ams_subscription_ids: query
                .ams_subscription_ids
                .as_ref()
                .map(|ids| ids.iter().map(|id| id.trim().to_owned()).collect()),
            user_name,
            org_id,
            ..ClusterFilter::default()
        };
        let mut found = self.database.reader().clusters(&filter).await?;
        if let Some(owner) = query.owner.as_ref().filter(|_| self.access.has_owners()) {
            found.retain(|stored| stored.record.cluster.user_name == *owner);
        }
        if let Some(resource) = caller.resource {
            found.retain(|stored| resource == TokenResource::Cluster(stored.record.cluster.id));
        }
        Ok(found)
    }

    /// Some of the clusters that were found, as a list shows them.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list_part(
        &self,
        found: &[Stored<ClusterRecord>],
        query: &ListClusters,
    ) -> Result<Vec<Cluster>, Error> {
        let ids = found.iter().map(|stored| stored.record.cluster.id).collect();
        let of_these =
            HostFilter { cluster_ids: Some(ids), deleted: deleted_of(query), ..HostFilter::default() };
        let mut states = self.states_of(&of_these).await?;
        let mut hosts = if query.with_hosts { self.hosts_of(of_these).await? } else { BTreeMap::new() };
        let show = |stored: &Stored<ClusterRecord>| {
            let id = stored.record.cluster.id;
            let mut cluster = render_record(&stored.record);
            count_hosts(&mut cluster, states.remove(&id).unwrap_or_default());
            cluster.hosts = Some(hosts.remove(&id).unwrap_or_default());
            (cluster.host_networks, cluster.operator_bundles) = (None, None);
            cluster
        };
        Ok(found.iter().map(show).collect())
    }

    /// How many hosts there are of each state, by cluster.
    async fn states_of(
        &self,
        filter: &HostFilter,
    ) -> Result<BTreeMap<ClusterId, Vec<(HostStatus, u64)>>, Error> {
        let mut states: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, status, count) in self.database.reader().host_states(filter).await? {
            states.entry(id).or_default().push((status, count));
        }
        Ok(states)
    }

    /// The hosts as lists of clusters show them, by cluster.
    async fn hosts_of(&self, filter: HostFilter) -> Result<BTreeMap<ClusterId, Vec<Host>>, Error> {
        let filter = HostFilter { reports: Reports::All, ..filter };
        let mut hosts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for facts in self.database.hosts(&filter).await? {
            let Some(id) = facts.record.host.cluster_id else { continue };
            hosts.entry(id).or_default().push(Host { progress_stages: None, ..raw_host(&facts) });
        }
        Ok(hosts)
    }
}

fn deleted_of(query: &ListClusters) -> Deleted {
    if query.get_unregistered_clusters { Deleted::Shown } else { Deleted::Hidden }
}
