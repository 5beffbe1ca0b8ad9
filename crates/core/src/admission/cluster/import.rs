//! Clusters that are not installed from here: existing ones that get further hosts, and ones installed without a
//! connection (service-api §4.10).

use assisted_wire::cluster::{ClusterKind, ClusterStatus};
use assisted_wire::cluster_params::{DisconnectedClusterCreateParams, ImportClusterParams};
use assisted_wire::id::ClusterId;
use assisted_wire::platform::PlatformType;

use super::{Created, blank, refuse};
use crate::admission::NewObject;
use crate::admission::field::{cluster_name, dns};
use crate::catalogue::platform::resolution::plain;
use crate::model::event::catalogue;
use crate::model::refusal::Refusal;
use crate::state::cluster::status_info::ADDING_HOSTS;

/// Registers an existing cluster, so that hosts can be added to it.
pub fn import(params: &ImportClusterParams, new: &NewObject<ClusterId>) -> Result<Created, Refusal> {
    let split = dns::split_api_name(&params.api_vip_dnsname);
    let (name, domain) = split.unwrap_or((&params.name, ""));
    cluster_name::check(name, Some(PlatformType::Baremetal)).map_err(refuse)?;
    let kind = ClusterKind::AddHostsCluster;
    let mut record = blank::record(new, kind, ClusterStatus::AddingHosts, ADDING_HOSTS);
    let cluster = &mut record.cluster;
    cluster.name = name.to_owned();
    cluster.base_dns_domain = domain.to_owned();
    cluster.api_vip_dns_name = Some(params.api_vip_dnsname.clone());
    cluster.openshift_version.clone_from(&params.openshift_version);
    cluster.openshift_cluster_id = Some(params.openshift_cluster_id);
    cluster.platform = Some(plain(PlatformType::Baremetal));
    cluster.imported = true;
    cluster.hosts = Some(Vec::new());
    cluster.host_networks = Some(Vec::new());
    let event = catalogue::CLUSTER_REGISTRATION_SUCCEEDED.of_cluster(new.id, &[("cluster_kind", &kind)]);
    Ok(Created { record, events: vec![event] })
}

/// Registers a cluster that is installed without a connection; nothing but its name and version is known.
pub fn disconnected(
    params: &DisconnectedClusterCreateParams,
    new: &NewObject<ClusterId>,
) -> Result<Created, Refusal> {
    if params.name.is_empty() {
        return Err(refuse("cluster name is required"));
    }
    if params.openshift_version.is_empty() {
        return Err(refuse("OpenShift version is required"));
    }
    let info = "Cluster created for offline installation";
    let mut record = blank::record(new, ClusterKind::DisconnectedCluster, ClusterStatus::Unmonitored, info);
    record.cluster.name.clone_from(&params.name);
    record.cluster.openshift_version.clone_from(&params.openshift_version);
    Ok(Created { record, events: Vec::new() })
}
