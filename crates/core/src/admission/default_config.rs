//! What a new cluster gets when nothing is said, as user interfaces ask for it (service-api §4.14).

use assisted_wire::cluster::ClusterDefaultConfig;
use assisted_wire::network::{ClusterNetwork, ServiceNetwork, Subnet};

use crate::network::hostname::FORBIDDEN;
use crate::policy::Policy;

/// The defaults of clusters.
pub fn default_config(policy: &Policy) -> ClusterDefaultConfig {
    let clusters = &policy.clusters;
    let network =
        |cidr: String, host_prefix| ClusterNetwork { cluster_id: None, cidr: Subnet(cidr), host_prefix };
    let service = |cidr: String| ServiceNetwork { cluster_id: None, cidr: Subnet(cidr) };
    let cluster_v4 = network(clusters.cluster_network_cidr.to_string(), clusters.cluster_network_host_prefix);
    let cluster_v6 =
        network(clusters.cluster_network_cidr_ipv6.to_string(), clusters.cluster_network_host_prefix_ipv6);
    let service_v4 = service(clusters.service_network_cidr.to_string());
    let service_v6 = service(clusters.service_network_cidr_ipv6.to_string());
    let hours = policy.service.deleted_inactive_after.as_secs() / 3600;
    ClusterDefaultConfig {
        cluster_network_cidr: clusters.cluster_network_cidr.to_string(),
        cluster_network_host_prefix: clusters.cluster_network_host_prefix,
        inactive_deletion_hours: i64::try_from(hours).unwrap_or(i64::MAX),
        service_network_cidr: clusters.service_network_cidr.to_string(),
        ntp_source: clusters.ntp_default_server.clone(),
        cluster_networks_ipv4: Some(vec![cluster_v4.clone()]),
        cluster_networks_dualstack: Some(vec![cluster_v4, cluster_v6]),
        service_networks_ipv4: Some(vec![service_v4.clone()]),
        service_networks_dualstack: Some(vec![service_v4, service_v6]),
        forbidden_hostnames: Some(FORBIDDEN.iter().map(|name| (*name).to_owned()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_answer() {
        let expected = serde_json::json!({
            "cluster_network_cidr": "10.128.0.0/14",
            "cluster_network_host_prefix": 23,
            "inactive_deletion_hours": 480,
            "service_network_cidr": "172.30.0.0/16",
            "cluster_networks_ipv4": [{"cidr": "10.128.0.0/14", "host_prefix": 23}],
            "cluster_networks_dualstack":
                [{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}],
            "service_networks_ipv4": [{"cidr": "172.30.0.0/16"}],
            "service_networks_dualstack": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
            "forbidden_hostnames": [
                "localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6",
                "localhost6.localdomain6"
            ],
        });
        assert_eq!(serde_json::to_value(default_config(&Policy::default())).unwrap(), expected);
    }
}
