//! Which machines a cluster is made of.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use uuid::Uuid;

use super::{Fault, Plan};
use crate::machine::{Boot, Disk, Firmware, Link, Nic, Spec};
use crate::network::{GATEWAY, Member, PREFIX, tap};

/// The discovery image, in the lab's folder.
pub(super) const ISO: &str = "discovery.iso";

/// Sparse: only what is written takes room.
const DISK: u64 = 40 << 30;

/// The shape of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One node.
    Sno,
    /// Three control-plane nodes.
    Compact,
    /// Three control-plane nodes and two workers.
    Ha,
    /// Two control-plane nodes and an arbiter.
    Arbiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Master,
    Arbiter,
    Worker,
}

/// A machine that is to be.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    /// Its host's, too.
    pub(super) id: Uuid,
    number: usize,
    role: Role,
    address: Ipv4Addr,
    memory_mib: u32,
}

impl Topology {
    /// Nodes of the control plane, as clusters count them.
    pub(super) fn control_plane(self) -> u32 {
        match self {
            Self::Sno => 1,
            Self::Arbiter => 2,
            Self::Compact | Self::Ha => 3,
        }
    }

    fn workers(self) -> u32 {
        if self == Self::Ha { 2 } else { 0 }
    }
}

/// The machines of a plan, control plane first.
pub(super) fn machines(plan: &Plan) -> Vec<Planned> {
    let topology = plan.topology;
    let memory = if topology == Topology::Sno { 6144 } else { 4608 };
    let group = |role, name: &'static str, count: u32, first: u8, memory_mib| {
        (0..count).zip(first..).map(move |(index, last)| {
            (role, format!("{name}-{index}"), Ipv4Addr::new(192, 168, 126, last), memory_mib)
        })
    };
    let arbiters = u32::from(topology == Topology::Arbiter);
    group(Role::Master, "master", topology.control_plane(), 10, memory)
        .chain(group(Role::Arbiter, "arbiter", arbiters, 15, 3072))
        .chain(group(Role::Worker, "worker", topology.workers() + plan.workers, 20, 3072))
        .enumerate()
        .map(|(number, (role, name, address, memory_mib))| Planned {
            name,
            id: Uuid::new_v4(),
            number,
            role,
            address,
            memory_mib,
        })
        .collect()
}

impl Planned {
    fn mac(&self) -> String {
        format!("52:54:00:7e:00:{:02x}", self.number + 1)
    }

    pub(super) fn is_worker(&self) -> bool {
        self.role == Role::Worker
    }

    /// Its role, as the service calls it.
    pub(super) fn role(&self) -> &'static str {
        match self.role {
            Role::Master => "master",
            Role::Arbiter => "arbiter",
            Role::Worker => "worker",
        }
    }

    pub(super) fn member(&self) -> Member {
        Member { name: self.name.clone(), mac: self.mac(), address: self.address }
    }

    pub(super) fn spec(&self, plan: &Plan, fault: Option<Fault>) -> Spec {
        let mut spec = Spec::new(&self.name, Firmware::Bios, Boot::Cd(plan.dir.join(ISO)));
        spec.uuid = self.id;
        spec.memory_mib = self.memory_mib;
        spec.disks = vec![Disk { bytes: DISK }];
        spec.nics = vec![Nic { mac: self.mac(), link: Link::Tap(tap(self.number)) }];
        spec.medium_first = fault == Some(Fault::BootOrder) && self.number == 0;
        spec
    }
}

/// Fixed addresses for machines, as the service takes them.
pub(super) fn networks<'a>(machines: impl Iterator<Item = &'a Planned>) -> String {
    let mut text = String::new();
    for machine in machines {
        let (mac, address) = (machine.mac(), machine.address);
        let _ = write!(
            text,
            "- mac_interface_map:\n  - {{mac_address: '{mac}', logical_nic_name: nic0}}\n  network_yaml: |\n    interfaces:\n    \
             - name: nic0\n      type: ethernet\n      state: up\n      ipv4: {{enabled: true, dhcp: false, address: [{{ip: \
             {address}, prefix-length: {PREFIX}}}]}}\n      ipv6: {{enabled: false}}\n    dns-resolver: {{config: {{server: \
             [{GATEWAY}]}}}}\n    routes: {{config: [{{destination: 0.0.0.0/0, next-hop-address: {GATEWAY}, \
             next-hop-interface: nic0}}]}}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(topology: Topology, workers: u32) -> Plan {
        Plan {
            topology,
            workers,
            static_network: false,
            minimal: false,
            dir: "/x".into(),
            program: "/x".into(),
            host_programs: "/x".into(),
            kubectl: None,
            fault: None,
            until: super::super::Until::Installed,
            stop: Default::default(),
        }
    }

    #[test]
    fn each_machine_has_its_own_name_and_address() {
        let machines = machines(&plan(Topology::Ha, 1));
        let names: Vec<_> = machines.iter().map(|machine| machine.name.as_str()).collect();
        assert_eq!(names, ["master-0", "master-1", "master-2", "worker-0", "worker-1", "worker-2"]);
        let last: Vec<_> = machines.iter().map(|machine| machine.address.octets()[3]).collect();
        assert_eq!(last, [10, 11, 12, 20, 21, 22]);
        let networks = networks(machines.iter());
        assert!(networks.contains("mac_address: '52:54:00:7e:00:06'"), "{networks}");
        assert!(networks.contains("\n    - name: nic0\n      type: ethernet\n"), "{networks}");
    }

    #[test]
    fn an_arbiter_comes_with_two_masters() {
        let roles: Vec<_> = machines(&plan(Topology::Arbiter, 0)).iter().map(Planned::role).collect();
        assert_eq!(roles, ["master", "master", "arbiter"]);
    }
}
