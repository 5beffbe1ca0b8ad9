//! What operators say of a host, and take of it.

use assisted_wire::host::HostRole::{Arbiter, AutoAssign, Master, Worker};
use assisted_wire::inventory::{Disk, DriveType};

use super::*;
use crate::catalogue::hardware::{SelectionInput, total};
use crate::catalogue::operators::OPERATORS;
use crate::policy::Requirements;
use crate::validation::Scope;
use crate::validation::host::{fits_role, fits_role_and_operators};
use crate::validation::testing::disk;

/// Hosts in roles, each with a disk that is installed on and further ones.
fn stored(operators: &[&str], roles: &[HostRole], further: &[Disk]) -> Facts {
    let disks = [&[disk("sda", DriveType::Ssd, 120)], further].concat();
    let mut facts = facts(roles.len()).with_inventory(&inventory().disks(disks));
    for host in &mut facts.hosts {
        host.record.host.installation_disk_id = "/dev/disk/by-id/sda".to_owned();
    }
    facts.with_operators(operators).with_roles(roles)
}

fn ssd(gb: i64) -> Disk {
    disk("sdb", DriveType::Ssd, gb)
}

/// Cores and MiB that the first host must have.
fn needed(facts: &Facts) -> (i64, i64) {
    let details = total(&Requirements::built_in(), &SelectionInput::of(facts, &facts.hosts[0])).unwrap();
    (details.cpu_cores, details.ram_mib)
}

#[test]
pub(super) fn not_installed() {
    for each in OPERATORS {
        let (id, name) = (each.host, each.name);
        let disabled = format!("{name} is disabled");
        success(&facts(1), id, &disabled);
        success(&day2(facts(1)), id, &disabled);
        success(
            &day2(facts(1).with_operators(&[name])),
            id,
            &format!("{name} validation is disabled when adding hosts to an existing cluster."),
        );
    }
    // Day-2 hosts get no operators.
    let worker = stored(&["lvm"], &[Worker], &[]);
    assert_eq!((needed(&worker), needed(&day2(worker.clone()))), ((3, 8192 + 100), (2, 8192)));
}

#[test]
pub(super) fn logical_volumes() {
    let id = LvmRequirementsSatisfied;
    pending(&facts(1).with_operators(&["lvm"]), id, "Missing Inventory in the host");
    let lvm = |roles: &[HostRole], further: &[Disk]| stored(&["lvm"], roles, further);
    let lacks = "Logical Volume Manager requires at least one non-installation HDD/SSD disk on the host";
    // Without two workers the control plane does their work.
    for role in [Master, Worker, AutoAssign] {
        failure(&lvm(&[role, Master, Worker], &[]), id, lacks);
        success(&lvm(&[role, Master, Worker], &[ssd(1)]), id, "");
    }
    success(&lvm(&[Arbiter, Master, Master], &[]), id, "");
    success(&lvm(&[Master], &[disk("sdb", DriveType::Hdd, 1)]), id, "");
    for other in [disk("sdb", DriveType::Multipath, 500), disk("sdb", DriveType::Ssd, 0)] {
        failure(&lvm(&[Master], &[other]), id, lacks);
    }
    // With them it does not.
    success(&lvm(&[Master, Worker, Worker], &[]), id, "");
    failure(&lvm(&[Worker, Master, Worker], &[]), id, lacks);
    failure(
        &lvm(&[AutoAssign, Worker, Worker], &[ssd(1)]),
        id,
        "For Logical Volume Manager Standard Mode, host role must be assigned to master or worker.",
    );
    let suggested = lvm(&[AutoAssign, Worker, Worker], &[])
        .with_host(|host| host.record.host.suggested_role = Some(Master));
    success(&suggested, id, "");
    // The multicluster engine stores on the disk too.
    let both = |gb| stored(&["lvm", "mce"], &[Master, Master, Master], &[ssd(gb)]);
    let least = |gb| {
        format!(
            "Logical Volume Manager requires at least one non-installation HDD/SSD disk of {gb}GB minimum on the host"
        )
    };
    success(&both(50), id, "");
    failure(&both(49), id, &least(50));
    failure(&single_node(both(69)), id, &least(70));
    success(&single_node(both(70)), id, "");
}

#[test]
fn logical_volumes_take() {
    let lvm = |roles: &[HostRole]| stored(&["lvm"], roles, &[]);
    let of_version = |version: &str| {
        lvm(&[Worker]).with_cluster(|cluster| version.clone_into(&mut cluster.openshift_version))
    };
    for (version, ram) in
        [("4.12.9", 1200), ("4.13.0-rc.1", 400), ("4.15.3", 400), ("4.16.0", 100), ("4.20.1", 100)]
    {
        assert_eq!(needed(&of_version(version)), (3, 8192 + ram), "{version}");
    }
    let own = settings(of_version("4.12.9"), |policy| {
        policy.operators.lvm_cpu_per_host = 2;
        policy.operators.lvm_memory_per_host_mib = Some(7);
    });
    assert_eq!(needed(&own), (4, 8199));
    assert_eq!(needed(&lvm(&[Master, Worker])), (5, 16484), "works, for want of workers");
    assert_eq!(needed(&lvm(&[Master, Worker, Worker])), (4, 16384));
    assert_eq!(needed(&lvm(&[Arbiter, Master])), (2, 8192));
    assert_eq!(needed(&single_node(lvm(&[Master]))), (9, 16484));
}

#[test]
pub(super) fn data_foundation() {
    let id = OdfRequirementsSatisfied;
    pending(&facts(3).with_operators(&["odf"]), id, "Missing Inventory in the host.");
    let odf = |roles: &[HostRole], further: &[Disk]| stored(&["odf"], roles, further);
    let compact = [Master, Master, Master];
    let standard = [Worker, Worker, Worker, Master, Master, Master];
    let auto = "Auto-assigning roles for hosts with ODF is allowed only for clusters with exactly three hosts. For \
                other scenarios, please manually assign the host role as either a control plane node or a worker.";
    pending(&odf(&[AutoAssign; 4], &[ssd(25)]), id, auto);
    pending(&odf(&[AutoAssign, Master, Master, Arbiter], &[ssd(25)]), id, auto);
    let small = |mode: &str, gb| {
        format!(
            "Insufficient resources to deploy ODF in {mode} mode. ODF requires a minimum of 3 hosts. Each host must have \
             at least 1 additional disk of {gb} GB minimum and an installation disk."
        )
    };
    let none = |mode: &str| {
        format!(
            "Insufficient disks, ODF requires at least one non-installation SSD or HDD disk on each host in {mode} mode."
        )
    };
    for (mode, roles) in [("compact", &compact[..]), ("compact", &[AutoAssign; 3]), ("standard", &standard)] {
        success(&odf(roles, &[ssd(25)]), id, "");
        failure(&odf(roles, &[ssd(24)]), id, &small(mode, 25));
        failure(&odf(roles, &[]), id, &none(mode));
        failure(&odf(roles, &[disk("sdb", DriveType::Multipath, 500)]), id, &none(mode));
        let with_engine = |gb| stored(&["odf", "mce"], roles, &[ssd(gb)]);
        success(&with_engine(75), id, "");
        failure(&with_engine(74), id, &small(mode, 75));
    }
    // Hosts that it does not run on, and clusters that it can't run in, which the cluster's validation tells.
    success(&odf(&[Master, Master, Master, Worker, Worker, Worker], &[]), id, "");
    success(&odf(&[Master, Master, Master, Worker], &[]), id, "");
}

#[test]
fn data_foundation_takes() {
    let odf = |roles: &[HostRole], further: &[Disk]| needed(&stored(&["odf"], roles, further));
    let ram = |base_mib: i64, gib: i64| base_mib + gib * 1024;
    let two = [ssd(25), disk("sdc", DriveType::Hdd, 900)];
    let compact = [Master, Master, Master];
    assert_eq!(odf(&compact, &[]), (4 + 8, ram(16384, 24)), "a disk is reckoned with");
    assert_eq!(odf(&compact, &[ssd(25)]), (4 + 8, ram(16384, 24)));
    assert_eq!(odf(&compact, &two), (4 + 10, ram(16384, 29)));
    let standard = [Worker, Worker, Worker, Master, Master, Master];
    assert_eq!(odf(&standard, &[]), (2 + 8, ram(8192, 19)));
    assert_eq!(odf(&standard, &two), (2 + 12, ram(8192, 29)));
    assert_eq!(odf(&[Master, Master, Master, Worker, Worker, Worker], &two), (4, 16384));
    assert_eq!(odf(&[Worker, Master, Master, Master], &two), (2, 8192), "it can't run in this cluster");
    failure(
        &stored(&["odf"], &compact, &two),
        HasCpuCoresForRole,
        "Require at least 14 CPU cores for master role, found only 8",
    );
    failure(
        &stored(&["odf"], &compact, &two),
        HasMemoryForRole,
        "Require at least 45.00 GiB RAM for role master, found only 32.00 GiB",
    );
}

#[test]
fn storage_decides_on_control_plane_nodes() {
    let strong = inventory().cores(64).memory_mib(256 << 10);
    let fits = |further: &[Disk], fits: fn(&Scope<'_>, &crate::model::facts::HostFacts, HostRole) -> bool| {
        let disks = [&[disk("sda", DriveType::Ssd, 120)], further].concat();
        let mut facts = stored(&["odf"], &[AutoAssign; 3], &[]);
        facts = facts.with_inventory(&strong.clone().disks(disks));
        fits(&Scope::new(&facts), &facts.hosts[0], Master)
    };
    assert!(fits(&[], fits_role), "operators apart");
    assert!(!fits(&[], fits_role_and_operators));
    assert!(fits(&[ssd(25)], fits_role_and_operators));
    let mut one_without = stored(&["odf"], &[AutoAssign; 3], &[]);
    one_without = one_without
        .with_inventory(&strong.clone().disks(vec![disk("sda", DriveType::Ssd, 120), ssd(25)]))
        .with_host(|host| {
            let inventory = strong.clone().disks(vec![disk("sda", DriveType::Ssd, 120)]).build();
            host.inventory = Some(Arc::new(inventory));
        });
    let suggested: Vec<_> = crate::decide::refresh::refresh(&one_without)
        .hosts
        .iter()
        .map(|change| change.record.as_ref().unwrap().host.suggested_role.unwrap())
        .collect();
    assert_eq!(suggested, [Worker, Master, Master]);
    // A host is tried in a role as if the user had given it that role.
    let four = stored(&["odf"], &[AutoAssign, Master, Master, Arbiter], &[ssd(25)]);
    let four = four.with_inventory(&strong.clone().disks(vec![ssd(25)]));
    assert!(fits_role_and_operators(&Scope::new(&four), &four.hosts[0], Master));
}

#[test]
fn a_machine_is_no_master_beside_operators_that_need_more() {
    let machine = |cores: i64| {
        let flags = Some(vec!["vmx".to_owned()]);
        inventory().cores(cores).with(|inventory| inventory.cpu.as_mut().unwrap().flags = flags)
    };
    // The first two are the weakest, and so the first to be tried as masters.
    let suggested = |operators: &[&str]| {
        let mut facts = facts(5).with_operators(operators).with_roles(&[AutoAssign; 5]);
        for (n, host) in facts.hosts.iter_mut().enumerate() {
            host.inventory = Some(Arc::new(machine(if n < 2 { 4 } else { 12 }).build()));
        }
        let changes = crate::decide::refresh::refresh(&facts).hosts;
        changes
            .iter()
            .map(|change| change.record.as_ref().unwrap().host.suggested_role.unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(suggested(&[]), [Master, Master, Master, Worker, Worker]);
    assert_eq!(suggested(&["cnv"]), [Worker, Worker, Master, Master, Master]);
    assert_eq!(suggested(&["mce"]), [Worker, Worker, Master, Master, Master]);
}
