//! What kind of cluster this is, and which part a host plays in it (state-machines §1.1, §3.7).

use assisted_wire::cluster::{Cluster, ClusterKind};
use assisted_wire::cluster_params::RoleSet;
use assisted_wire::host::HostRole;
use assisted_wire::network::LoadBalancerType;
use assisted_wire::platform::{Platform, PlatformType};

use crate::model::facts::HostFacts;

/// Name of the external platform that has rules of its own.
pub const OCI: &str = "oci";

/// Whether the cluster's user provides addresses, load balancers and DNS.
pub fn is_user_managed_networking(cluster: &Cluster) -> bool {
    cluster.user_managed_networking == Some(true)
}

/// Whether the cluster consists of one node.
pub fn is_single_node(cluster: &Cluster) -> bool {
    cluster.control_plane_count == 1
}

/// Whether the VIPs come from a DHCP server.
pub fn is_vip_dhcp(cluster: &Cluster) -> bool {
    cluster.vip_dhcp_allocation == Some(true)
}

/// Whether the user provides the load balancer.
pub fn is_user_load_balanced(cluster: &Cluster) -> bool {
    let kind = cluster.load_balancer.as_ref().and_then(|balancer| balancer.r#type);
    kind == Some(LoadBalancerType::UserManaged)
}

/// Whether hosts are being added to an installed cluster.
pub fn is_day2(cluster: &Cluster) -> bool {
    cluster.kind == ClusterKind::AddHostsCluster
}

/// Whether the cluster runs on Oracle Cloud Infrastructure.
pub fn is_oci(platform: &Platform) -> bool {
    let name = platform.external.as_ref().and_then(|external| external.platform_name.as_deref());
    platform.r#type == PlatformType::External && name == Some(OCI)
}

/// The host's name: the requested one, else the one it reports.
pub fn host_name(host: &HostFacts) -> &str {
    let requested = host.record.host.requested_hostname.as_str();
    let reported = || host.inventory.as_ref().map_or("", |inventory| inventory.hostname.as_str());
    if requested.is_empty() { reported() } else { requested }
}

/// Whether something that is said of some roles (`masters`, `arbiters`, …) is said of one.
pub fn covers(roles: RoleSet, role: HostRole) -> bool {
    let name = match role {
        HostRole::Master | HostRole::Bootstrap => "masters",
        HostRole::Arbiter => "arbiters",
        HostRole::Worker => "workers",
        HostRole::AutoAssign => return false,
    };
    roles == RoleSet::All || roles.as_str().split(',').any(|each| each == name)
}

/// Hosts of the cluster with an effective role.
pub fn count_role(hosts: &[HostFacts], role: HostRole) -> usize {
    hosts.iter().filter(|host| host.effective_role() == role).count()
}

/// Whether the cluster has two control plane nodes that fence each other, and no arbiter.
pub fn is_two_nodes_with_fencing(cluster: &Cluster, hosts: &[HostFacts]) -> bool {
    let masters = || hosts.iter().filter(|host| host.effective_role() == HostRole::Master);
    cluster.control_plane_count == 2
        && count_role(hosts, HostRole::Arbiter) == 0
        && masters().count() == 2
        && masters().all(|host| !host.record.host.fencing_credentials.is_empty())
}

/// Whether workloads must run on the control plane, for want of workers.
pub fn masters_schedulable_forced(cluster: &Cluster, hosts: &[HostFacts]) -> bool {
    masters_forced_by(cluster, count_role(hosts, HostRole::Worker))
}

/// As [`masters_schedulable_forced`], by the number of workers.
pub fn masters_forced_by(cluster: &Cluster, workers: usize) -> bool {
    is_single_node(cluster) || workers < 2
}
