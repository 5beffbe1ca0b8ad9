//! The hosts of a cluster (service-api §4.8).

use assisted_store::{HostFilter, Reports};
use assisted_wire::host::{HostList, HostRole};
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::view::host::raw_host;
use crate::{Caller, Error};

/// Which hosts of a cluster to list.
#[derive(Clone, Debug)]
pub struct ListClusterHosts {
    pub cluster_id: ClusterId,
    pub role: Option<HostRole>,
    pub status: Option<String>,
    pub with_inventory: bool,
    pub with_connectivity: bool,
}

impl Clusters {
    /// The hosts of a cluster; none for a cluster that does not exist.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list_hosts(&self, _: &Caller, query: ListClusterHosts) -> Result<HostList, Error> {
        let status = match query.status.map(|status| status.parse()) {
            None => None,
            Some(Ok(status)) => Some(status),
            // No host is in a state that there is not.
            Some(Err(_)) => return Ok(HostList::default()),
        };
        let filter = HostFilter {
            cluster_id: Some(query.cluster_id),
            role: query.role,
            status,
            reports: Reports::All,
            ..HostFilter::default()
        };
        let response = self.database.hosts(&filter).await?.into_iter().map(|facts| {
            let mut host = raw_host(&facts);
            host.progress_stages = None;
            if !query.with_inventory {
                host.inventory.clear();
            }
            if !query.with_connectivity {
                host.connectivity.clear();
            }
            host
        });
        Ok(HostList(response.collect()))
    }
}
