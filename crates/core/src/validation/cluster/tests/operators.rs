//! What operators say of a cluster.

use assisted_wire::cluster::ClusterKind;
use assisted_wire::host::HostRole::{Arbiter, AutoAssign, Master, Worker};
use assisted_wire::inventory::{Disk, DriveType};

use super::*;
use crate::catalogue::operators::OPERATORS;
use crate::validation::testing::disk;

fn of_version(facts: Facts, version: &str) -> Facts {
    facts.with_cluster(|cluster| version.clone_into(&mut cluster.openshift_version))
}

#[test]
pub(super) fn not_installed() {
    let day2 = |facts: Facts| facts.with_cluster(|cluster| cluster.kind = ClusterKind::AddHostsCluster);
    for each in OPERATORS {
        let (id, name) = (each.cluster, each.name);
        let disabled = format!("{name} is disabled");
        success(&facts(0), id, &disabled);
        success(&day2(facts(0)), id, &disabled);
        success(
            &day2(facts(0).with_operators(&[name])),
            id,
            &format!("{name} validation is disabled when adding hosts to an existing cluster."),
        );
    }
}

#[test]
pub(super) fn logical_volumes() {
    let id = LvmRequirementsSatisfied;
    let lvm = |version| of_version(facts(0).with_operators(&["lvm"]), version);
    let old = "Logical Volume Manager is only supported for openshift versions 4.11.0 and above";
    failure(&lvm("4.10.67"), id, old);
    failure(&single_node(lvm("4.10.67")), id, old);
    let several = "Logical Volume Manager is only supported for highly available openshift with version 4.15.0 or above";
    failure(&lvm("4.11.0"), id, several);
    failure(&lvm("4.14.30"), id, several);
    success(&single_node(lvm("4.11.0")), id, "");
    success(&lvm("4.15.0-rc.1"), id, "");
    success(&lvm("4.20.1"), id, "");
}

#[test]
pub(super) fn data_foundation() {
    let id = OdfRequirementsSatisfied;
    let odf = |roles: &[HostRole], further: &[Disk]| {
        let disks = [&[disk("sda", DriveType::Ssd, 120)], further].concat();
        let mut facts = facts(roles.len()).with_inventory(&inventory().disks(disks));
        for host in &mut facts.hosts {
            host.record.host.installation_disk_id = "/dev/disk/by-id/sda".to_owned();
        }
        facts.with_operators(&["odf"]).with_roles(roles)
    };
    let ssd = |gb| disk("sdb", DriveType::Ssd, gb);
    let mode = "The cluster must either have no dedicated worker nodes or at least three. Add or remove hosts, or \
                change their roles configurations to meet the requirement.";
    for roles in [
        &[][..],
        &[Master, Master],
        &[Master, Master, Master, Worker],
        &[Master, Master, Master, AutoAssign],
        &[AutoAssign; 4],
        &[Master, Master, Worker, Worker, Worker],
    ] {
        failure(&odf(roles, &[ssd(25)]), id, mode);
    }
    let compact = "ODF Requirements for Compact Deployment are satisfied.";
    let standard = "ODF Requirements for Standard Deployment are satisfied.";
    for (roles, text) in [
        (&[Master, Master, Master][..], compact),
        (&[AutoAssign; 3], compact),
        (&[Master, AutoAssign, AutoAssign], compact),
        (&[Master, Master, Arbiter], compact),
        (&[Master; 5], compact),
        (&[Master, Master, Master, Worker, Worker, Worker], standard),
        (&[Master, Master, Arbiter, Worker, Worker, Worker], standard),
    ] {
        success(&odf(roles, &[ssd(25)]), id, text);
    }
    pending(
        &facts(3).with_roles(&[Master; 3]).with_operators(&["odf"]),
        id,
        "Missing Inventory in some of the hosts",
    );
    failure(
        &odf(&[Master; 3], &[ssd(25)]).with_report(ReportKind::Inventory, "{"),
        id,
        "Failed to parse the inventory of some of the hosts",
    );
    let short = |mode: &str| {
        format!(
            "Insufficient resources to deploy ODF in {mode} mode. ODF requires a minimum of 3 hosts. Each host must have \
             at least 1 additional disk of 25 GB minimum and an installation disk."
        )
    };
    let six = [Master, Master, Master, Worker, Worker, Worker];
    failure(&odf(&[Master; 3], &[]), id, &short("compact"));
    failure(&odf(&six, &[]), id, &short("standard"));
    failure(&odf(&six, &[ssd(24)]), id, &short("standard"));
    // Four hosts with disks are enough, unless the fifth has none but too small ones.
    let but_one = |further: &[Disk]| {
        let mut facts = odf(&[Master; 5], &[ssd(25)]);
        facts.hosts[4].inventory.clone_from(&odf(&[Master], further).hosts[0].inventory);
        facts
    };
    success(&but_one(&[]), id, compact);
    failure(&but_one(&[ssd(24)]), id, &short("compact"));
    // Whom a role was suggested to counts by it.
    let mut suggested = odf(&[AutoAssign; 3], &[ssd(25)]);
    suggested.hosts[0].record.host.suggested_role = Some(Worker);
    failure(&suggested, id, &short("compact"));
    let more = |facts: Facts| {
        let operators = crate::policy::Operators { odf_num_minimum_disk: 4, ..Policy::default().operators };
        Facts { policy: Arc::new(Policy { operators, ..Policy::default() }), ..facts }
    };
    failure(&more(odf(&[Master; 3], &[ssd(25)])), id, &short("compact"));
    success(&more(odf(&[Master; 3], &[ssd(25), disk("sdc", DriveType::Hdd, 25)])), id, compact);
}
