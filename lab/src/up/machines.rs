//! The machines of a plan: which there are, and what each is made of.

use std::fmt::Write as _;
use std::path::PathBuf;

use assisted_lab_kinds::Outcomes;
use uuid::Uuid;

use super::topology::{Kind, Planned, Role, Topology, addresses};
use super::{Plan, image_registry};
use crate::machine::{Boot, Disk, Firmware, Link, Nic, Spec};
use crate::namespace::{self, MachinePrograms, Medium};
use crate::network::{GATEWAY, PREFIX, tap};

/// The discovery image, in the lab's folder.
pub(super) const ISO: &str = "discovery.iso";

/// Sparse: only what is written takes room.
const DISK: u64 = 40 << 30;

/// The machines of a plan, control plane first.
pub(super) fn machines(plan: &Plan) -> Vec<Planned> {
    if let Some(rack) = &plan.rack {
        return rack.machines();
    }
    let topology = plan.topology;
    let memory = match topology {
        // Its image is built in memory: its disk is written when that is done.
        Topology::Sno if plan.containerfile.is_some() => 9216,
        Topology::Sno => 6144,
        _ => 4608,
    };
    let group = |role: Role, count: usize, memory_mib: u32| {
        addresses(role)
            .take(count)
            .enumerate()
            .map(move |(index, address)| (format!("{}-{index}", role.name()), role, address, memory_mib))
    };
    let (masters, workers) = (topology.masters(), topology.workers() + plan.workers as usize);
    let arbiters = usize::from(topology == Topology::Arbiter);
    group(Role::Master, masters, memory)
        .chain(group(Role::Arbiter, arbiters, 3072))
        .chain(group(Role::Worker, workers + plan.day2_workers as usize, 3072))
        .enumerate()
        .map(|(number, (name, role, address, memory_mib))| Planned {
            is_late: number >= masters + arbiters + workers,
            name,
            role,
            address,
            mac: format!("52:54:00:7e:00:{:02x}", number + 1),
            kind: match plan.namespaces {
                true => Kind::Namespace { number, id: Uuid::new_v4() },
                false => Kind::Virtual { number, id: Uuid::new_v4(), memory_mib },
            },
        })
        .collect()
}

/// A machine of a kind that this computer can be.
pub(super) fn spec(planned: &Planned, image: PathBuf, medium_first: bool) -> Option<Spec> {
    let Kind::Virtual { number, id, memory_mib } = planned.kind else { return None };
    let mut spec = Spec::new(&planned.name, Firmware::Bios, Boot::Cd(image));
    spec.uuid = id;
    spec.memory_mib = memory_mib;
    spec.disks = vec![Disk { bytes: DISK }];
    spec.nics = vec![Nic { mac: planned.mac.clone(), link: Link::Tap(tap(number)) }];
    spec.medium_first = medium_first;
    Some(spec)
}

/// A machine of namespaces.
pub(super) fn namespace(
    planned: &Planned,
    plan: &Plan,
    medium: Medium,
    medium_first: bool,
    programs: &MachinePrograms,
    outcomes: &Outcomes,
) -> Option<namespace::Spec> {
    let Kind::Namespace { number, id } = planned.kind else { return None };
    Some(namespace::Spec {
        name: planned.name.clone(),
        number,
        uuid: id,
        mac: planned.mac.clone(),
        address: planned.address,
        disk_bytes: DISK,
        medium,
        medium_first,
        programs: programs.clone(),
        outcomes: outcomes.clone(),
        image_mode: plan.containerfile.is_some(),
        authorities: image_registry::authority(plan),
    })
}

/// Fixed addresses for machines, as the service takes them.
pub(super) fn networks<'a>(machines: impl Iterator<Item = &'a Planned>) -> String {
    let mut text = String::new();
    for machine in machines {
        let (mac, address) = (&machine.mac, machine.address);
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
pub(super) mod tests {
    use super::*;

    pub(in crate::up) fn plan(topology: Topology, workers: u32) -> Plan {
        Plan {
            topology,
            workers,
            day2_workers: 0,
            namespaces: false,
            hub: None,
            cluster_api: None,
            by_hand: false,
            static_network: false,
            minimal: false,
            dir: "/x".into(),
            program: "/x".into(),
            host_programs: "/x".into(),
            faults: Vec::new(),
            replicas: None,
            operators: Vec::new(),
            containerfile: None,
            workers_in_cluster: false,
            switches: false,
            external_registry: false,
            rack: None,
            until: super::super::Until::Installed,
            limit: std::time::Duration::ZERO,
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
    fn workers_that_are_added_later_follow_the_others() {
        let machines = machines(&Plan { day2_workers: 1, ..plan(Topology::Compact, 1) });
        let late: Vec<_> = machines.iter().map(|machine| (machine.name.as_str(), machine.is_late)).collect();
        assert_eq!(late[3..], [("worker-0", false), ("worker-1", true)]);
        assert!(late[..3].iter().all(|(_, is_late)| !is_late));
    }

    #[test]
    fn an_arbiter_comes_with_two_masters() {
        let roles: Vec<_> =
            machines(&plan(Topology::Arbiter, 0)).iter().map(|machine| machine.role.name()).collect();
        assert_eq!(roles, ["master", "master", "arbiter"]);
    }
}
