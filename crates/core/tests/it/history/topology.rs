//! Clusters of every kind, each ready to be installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::policy::Policy;
use assisted_wire::host::HostRole;
use assisted_wire::step::StepType;
use serde_json::{Value, json};

use super::walk::Walk;
use crate::world::{
    API_VIP, INGRESS_VIP, World, cluster, dual_inventory, inventory, several, single_node, virtual_inventory,
};

/// A kind of cluster.
#[derive(Clone, Copy)]
pub struct Topology {
    pub name: &'static str,
    pub hosts: u16,
    record: fn() -> ClusterRecord,
    policy: fn(&mut Policy),
    machine: fn(u16) -> Value,
    /// What it takes besides before a host is ready.
    pub help: fn(&mut World, u16),
    /// Hosts wait in a pool first, and are bound one by one.
    pub late: bool,
}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const PLAIN: Topology = Topology {
    name: "three masters",
    hosts: 3,
    record: || several(&json!({})),
    policy: |_| {},
    machine: inventory,
    help: |_, _| {},
    late: false,
};

pub const ALL: &[Topology] = &[
    PLAIN,
    Topology { name: "a single node", hosts: 1, record: single_node, ..PLAIN },
    Topology { name: "three masters and two workers", hosts: 5, ..PLAIN },
    Topology {
        name: "four masters",
        hosts: 4,
        record: || several(&json!({"control_plane_count": 4, "openshift_version": "4.20.1"})),
        ..PLAIN
    },
    Topology {
        name: "five masters and a worker",
        hosts: 6,
        record: || several(&json!({"control_plane_count": 5, "openshift_version": "4.20.1"})),
        ..PLAIN
    },
    Topology {
        name: "two masters and an arbiter",
        record: || several(&json!({"control_plane_count": 2, "openshift_version": "4.20.1"})),
        ..PLAIN
    },
    Topology {
        name: "two masters that fence each other",
        hosts: 2,
        record: || several(&json!({"control_plane_count": 2, "openshift_version": "4.20.1"})),
        policy: |policy| policy.clusters.tnf_clusters_support = true,
        help: |world, number| {
            let place = world.position(number);
            let host = &mut world.facts.hosts[place].record.host;
            (host.role, host.suggested_role) = (Some(HostRole::Master), Some(HostRole::Master));
            host.fencing_credentials = "{}".to_owned();
        },
        ..PLAIN
    },
    Topology {
        name: "networking by the user",
        record: || {
            let members = json!({
                "api_vips": [], "ingress_vips": [], "user_managed_networking": true, "platform": {"type": "none"},
            });
            several(&members)
        },
        ..PLAIN
    },
    Topology {
        name: "both families",
        record: || {
            let members = json!({
                "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64}],
                "service_networks": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
                "machine_networks": [{"cidr": "192.168.124.0/22"}, {"cidr": "fd00::/64"}],
            });
            several(&members)
        },
        machine: dual_inventory,
        ..PLAIN
    },
    Topology {
        name: "VIPs by DHCP",
        record: || {
            let members = json!({
                "api_vips": [], "ingress_vips": [], "vip_dhcp_allocation": true, "network_type": "OpenShiftSDN",
                "openshift_version": "4.14.1",
            });
            several(&members)
        },
        help: |world, number| {
            let leases = json!({"api_vip_address": API_VIP, "ingress_vip_address": INGRESS_VIP});
            let _ = world.reply(number, StepType::DhcpLeaseAllocate, &leases);
        },
        ..PLAIN
    },
    Topology {
        name: "virtual machines, with soft time limits",
        record: || several(&json!({"platform": {"type": "vsphere"}, "org_soft_timeouts_enabled": true})),
        policy: |policy| policy.hosts.enable_soft_timeouts = true,
        machine: virtual_inventory,
        ..PLAIN
    },
    Topology { name: "from a pool", late: true, ..PLAIN },
    Topology {
        name: "hosts that join a cluster",
        hosts: 2,
        record: || {
            let members = json!({
                "kind": "AddHostsCluster", "status": "adding-hosts", "imported": true,
                "api_vip_dns_name": "api.c.example.com",
            });
            cluster(&members)
        },
        help: |world, number| {
            let reached = json!({"is_success": true, "ignition": IGNITION});
            let _ = world.reply(number, StepType::ApiVipConnectivityCheck, &reached);
        },
        ..PLAIN
    },
];

const IGNITION: &str = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/manifests/coredns.yaml"}]}}"#;

impl Topology {
    /// Before anything is known of the hosts.
    pub fn begin(&'static self) -> Walk {
        let mut world = World::new(Some((self.record)()));
        let mut policy = Policy::default();
        (self.policy)(&mut policy);
        world.facts.policy = Arc::new(policy);
        world.machine = self.machine;
        if self.late {
            world.infra_env.infra_env.cluster_id = None;
        }
        Walk { topology: self, world, pool: BTreeMap::new(), attempt: None, silent: BTreeSet::new() }
    }
}
