//! Small facts for tests: a cluster, hosts, and inventories built step by step.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostRole};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::inventory::{
    Cpu, Disk, DiskInstallationEligibility, DriveType, Interface, Inventory, Memory, Route, SystemVendor,
};
use assisted_wire::network::{
    ApiVip, ClusterNetwork, IngressVip, Ip, MachineNetwork, ServiceNetwork, Subnet,
};
use assisted_wire::operator::{MonitoredOperator, OperatorType};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::model::cluster::ClusterRecord;
use crate::model::facts::{Facts, HostFacts};
use crate::model::outcome::{Explanation, Outcome, Status};
use crate::policy::Policy;

/// The moment of the tests.
pub(crate) fn now() -> Timestamp {
    "2026-08-21T01:54:08.5Z".parse().unwrap()
}

/// The id of the n-th host; ids sort as numbers do.
pub(crate) fn host_id(n: usize) -> HostId {
    HostId(Uuid::from_u128(n as u128))
}

/// The n-th host: known, heard just now, without inventory.
pub(crate) fn host(n: usize) -> HostFacts {
    let record = json!({"host": {
        "kind": "Host",
        "id": host_id(n),
        "href": "",
        "status": "known",
        "status_info": "",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "infra_env_id": InfraEnvId::default(),
        "role": "auto-assign",
        "requested_hostname": format!("host-{n}"),
    }, "clock_ahead_seconds": 0});
    HostFacts::new(serde_json::from_value(record).unwrap(), now())
}

/// A cluster of three control plane nodes that lacks nothing but a machine network and VIPs.
pub(crate) fn cluster() -> Cluster {
    serde_json::from_value(json!({
        "kind": "Cluster",
        "id": ClusterId::default(),
        "href": "",
        "name": "test",
        "status": "insufficient",
        "status_info": "",
        "image_info": {"created_at": "2026-01-01T00:00:00Z"},
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "openshift_version": "4.20.1",
        "base_dns_domain": "example.com",
        "control_plane_count": 3,
        "pull_secret_set": true,
        "network_type": "OVNKubernetes",
        "platform": {"type": "baremetal"},
        "user_managed_networking": false,
        "vip_dhcp_allocation": false,
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}],
        "service_networks": [{"cidr": "172.30.0.0/16"}],
        "machine_networks": [],
    }))
    .unwrap()
}

/// The cluster with hosts.
pub(crate) fn facts(hosts: usize) -> Facts {
    let record: ClusterRecord = serde_json::from_value(json!({"cluster": cluster()})).unwrap();
    let host = |n| {
        let mut host = host(n);
        host.record.host.cluster_id = Some(record.cluster.id);
        host
    };
    Facts {
        hosts: (1..=hosts).map(host).collect(),
        cluster: Some(record),
        infra_envs: BTreeMap::new(),
        policy: Arc::new(Policy::default()),
        now: now(),
    }
}

/// One unbound host.
pub(crate) fn unbound() -> Facts {
    let mut facts = facts(1);
    facts.cluster = None;
    let host: &mut Host = &mut facts.hosts[0].record.host;
    host.cluster_id = None;
    host.status = assisted_wire::host::HostStatus::DiscoveringUnbound;
    facts
}

impl Facts {
    /// The cluster, to change it.
    pub(crate) fn test_cluster(&mut self) -> &mut Cluster {
        &mut self.cluster.as_mut().unwrap().cluster
    }

    /// Gives the cluster machine networks.
    pub(crate) fn with_machine_networks(mut self, networks: &[&str]) -> Self {
        let network = |cidr: &&str| MachineNetwork { cluster_id: None, cidr: Subnet((*cidr).to_owned()) };
        self.test_cluster().machine_networks = Some(networks.iter().map(network).collect());
        self
    }

    /// Gives the cluster service and cluster networks, with a host prefix.
    pub(crate) fn with_networks(mut self, service: &[&str], cluster: &[(&str, i64)]) -> Self {
        let of_service = |cidr: &&str| ServiceNetwork { cluster_id: None, cidr: Subnet((*cidr).to_owned()) };
        let of_cluster = |(cidr, host_prefix): &(&str, i64)| ClusterNetwork {
            cluster_id: None,
            cidr: Subnet((*cidr).to_owned()),
            host_prefix: *host_prefix,
        };
        self.test_cluster().service_networks = Some(service.iter().map(of_service).collect());
        self.test_cluster().cluster_networks = Some(cluster.iter().map(of_cluster).collect());
        self
    }

    /// Gives the cluster VIPs.
    pub(crate) fn with_vips(mut self, api: &[&str], ingress: &[&str]) -> Self {
        let api = api.iter().map(|ip| ApiVip { ip: Ip((*ip).to_owned()), ..ApiVip::default() });
        let ingress =
            ingress.iter().map(|ip| IngressVip { ip: Ip((*ip).to_owned()), ..IngressVip::default() });
        self.test_cluster().api_vips = Some(api.collect());
        self.test_cluster().ingress_vips = Some(ingress.collect());
        self
    }

    /// Selects operators, and nothing but them.
    pub(crate) fn with_operators(mut self, names: &[&str]) -> Self {
        let operator = |name: &&str| MonitoredOperator {
            name: (*name).to_owned(),
            operator_type: Some(OperatorType::Olm),
            ..MonitoredOperator::default()
        };
        self.test_cluster().monitored_operators = Some(names.iter().map(operator).collect());
        self
    }

    /// Gives the hosts roles, each its own.
    pub(crate) fn with_roles(mut self, roles: &[HostRole]) -> Self {
        for (host, role) in self.hosts.iter_mut().zip(roles) {
            host.record.host.role = Some(*role);
        }
        self
    }

    /// Gives every host an inventory.
    pub(crate) fn with_inventory(mut self, inventory: &InventoryBuilder) -> Self {
        for host in &mut self.hosts {
            host.inventory = Some(Arc::new(inventory.clone().build()));
        }
        self
    }

    /// Gives the first host a report.
    pub(crate) fn with_report(mut self, kind: crate::model::report::ReportKind, text: &str) -> Self {
        self.hosts[0].put_report(kind, text.into());
        self
    }

    /// Changes the first host.
    pub(crate) fn with_host(mut self, change: impl FnOnce(&mut HostFacts)) -> Self {
        change(&mut self.hosts[0]);
        self
    }

    /// Changes the cluster.
    pub(crate) fn with_cluster(mut self, change: impl FnOnce(&mut Cluster)) -> Self {
        change(self.test_cluster());
        self
    }
}

/// An inventory in the making.
#[derive(Clone, Debug)]
pub(crate) struct InventoryBuilder(Inventory);

/// A machine that can be anything: 8 cores, 32 GiB, a disk of 120 GB, a default route; no address.
pub(crate) fn inventory() -> InventoryBuilder {
    let vendor = SystemVendor {
        manufacturer: "ACME".to_owned(),
        product_name: "A1".to_owned(),
        ..SystemVendor::default()
    };
    let route = Route {
        interface: "eth0".to_owned(),
        gateway: "10.0.0.254".to_owned(),
        destination: "0.0.0.0".to_owned(),
        family: 2,
        metric: 100,
    };
    InventoryBuilder(Inventory {
        hostname: "machine".to_owned(),
        cpu: Some(Cpu { count: 8, architecture: "x86_64".to_owned(), ..Cpu::default() }),
        memory: Some(Memory { physical_bytes: 32 << 30, usable_bytes: 32 << 30, ..Memory::default() }),
        disks: Some(vec![disk("sda", DriveType::Ssd, 120)]),
        interfaces: Some(Vec::new()),
        routes: Some(vec![route]),
        system_vendor: Some(vendor),
        ..Inventory::default()
    })
}

/// An eligible disk with a size in GB.
pub(crate) fn disk(name: &str, drive_type: DriveType, gb: i64) -> Disk {
    Disk {
        id: format!("/dev/disk/by-id/{name}"),
        name: name.to_owned(),
        drive_type: Some(drive_type),
        size_bytes: gb * 1_000_000_000,
        installation_eligibility: DiskInstallationEligibility { eligible: true, not_eligible_reasons: None },
        ..Disk::default()
    }
}

impl InventoryBuilder {
    /// Any change.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Inventory)) -> Self {
        change(&mut self.0);
        self
    }

    /// One more interface (`eth0`, `eth1`, …) with an address in CIDR form.
    pub(crate) fn address(self, cidr: &str) -> Self {
        self.with(|inventory| {
            let interfaces = inventory.interfaces.get_or_insert_default();
            let mut nic = Interface { name: format!("eth{}", interfaces.len()), ..Interface::default() };
            let list = if cidr.contains(':') { &mut nic.ipv6_addresses } else { &mut nic.ipv4_addresses };
            *list = Some(vec![cidr.to_owned()]);
            interfaces.push(nic);
        })
    }

    /// Number of cores.
    pub(crate) fn cores(self, count: i64) -> Self {
        self.with(|inventory| inventory.cpu.as_mut().unwrap().count = count)
    }

    /// Memory in MiB.
    pub(crate) fn memory_mib(self, mib: i64) -> Self {
        self.with(|inventory| inventory.memory.as_mut().unwrap().physical_bytes = mib << 20)
    }

    /// Other disks.
    pub(crate) fn disks(self, disks: Vec<Disk>) -> Self {
        self.with(|inventory| inventory.disks = Some(disks))
    }

    pub(crate) fn build(self) -> Inventory {
        self.0
    }
}

/// What does not hold says what was measured, what is required and what to do; what is not known yet says what to do.
#[track_caller]
pub(crate) fn explains_itself(id: &str, outcome: &Outcome) {
    let Explanation { measured, required, remedy } = &outcome.facts;
    let told = |fact: &Option<Cow<'_, str>>| fact.as_ref().is_some_and(|text| !text.is_empty());
    match outcome.status {
        Status::Failure => {
            assert!(told(measured) && told(required) && told(remedy), "{id}: {outcome:?}");
        }
        Status::Pending => assert!(told(remedy), "{id}: {outcome:?}"),
        Status::Success | Status::Error | Status::Disabled => {}
    }
}
