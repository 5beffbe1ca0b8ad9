//! Requirements as the API lists them, before hosts are there and for the hosts that are (validations §4.5).

use assisted_wire::cluster::{Cluster, DiskEncryption, DiskEncryptionMode};
use assisted_wire::host::HostRole;
use assisted_wire::requirements::{
    ClusterHostRequirements, ClusterHostRequirementsDetails as Details, ClusterHostRequirementsList,
    HostTypeHardwareRequirements, HostTypeHardwareRequirementsWrapper, PreflightHardwareRequirements,
};

use super::operators;
use super::selection::{self, HardwareError};
use super::selection_input::SelectionInput;
use crate::model::facts::Facts;
use crate::model::topology;
use crate::policy::{Policy, Requirements};

/// What a cluster requires of its hosts, by role, and what each operator would besides.
///
/// # Errors
///
/// The table of requirements has none for the cluster's version.
pub fn preflight_requirements(
    cluster: &Cluster,
    policy: &Policy,
) -> Result<PreflightHardwareRequirements, HardwareError> {
    let table = &policy.hardware.requirements;
    let version = &cluster.openshift_version;
    let roles = table.of_version(version).ok_or_else(|| HardwareError::NotFound(version.clone()))?;
    let master = if topology::is_single_node(cluster) { &roles.sno } else { &roles.master };
    let encryption = cluster.disk_encryption.as_ref();
    let details = |details: &Details, covered: bool| HostTypeHardwareRequirements {
        quantitative: Some(Details { tpm_enabled_in_bios: covered, ..details.clone() }),
        qualitative: None,
    };
    Ok(PreflightHardwareRequirements {
        ocp: Some(HostTypeHardwareRequirementsWrapper {
            master: Some(details(master, needs_tpm(encryption, HostRole::Master))),
            worker: Some(details(&roles.worker, needs_tpm(encryption, HostRole::Worker))),
        }),
        operators: Some(operators::preflight(cluster, &policy.operators)),
    })
}

/// What a cluster requires of each of its hosts.
///
/// # Errors
///
/// As [`selection::total`].
pub fn cluster_host_requirements(
    facts: &Facts,
    table: &Requirements,
) -> Result<ClusterHostRequirementsList, HardwareError> {
    let hosts = facts.hosts.iter().map(|host| {
        let input = SelectionInput::of(facts, host);
        Ok(ClusterHostRequirements {
            host_id: Some(host.record.host.id),
            ocp: Some(selection::base(table, &input)?),
            total: Some(selection::total(table, &input)?),
            operators: Some(operators::of_host(&input)),
        })
    });
    hosts.collect::<Result<_, _>>().map(ClusterHostRequirementsList)
}

/// Whether disks of the hosts of a role are encrypted with a TPM.
fn needs_tpm(encryption: Option<&DiskEncryption>, role: HostRole) -> bool {
    let covers = |roles| topology::covers(roles, role);
    encryption.is_some_and(|encryption| {
        encryption.mode == Some(DiskEncryptionMode::Tpmv2) && encryption.enable_on.is_some_and(covers)
    })
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster_params::RoleSet;

    use super::*;
    use crate::catalogue::operators::OPERATORS;
    use crate::validation::testing::{cluster, facts};

    fn numbers(role: Option<&HostTypeHardwareRequirements>) -> (i64, i64, i64, bool) {
        let details = role.and_then(|role| role.quantitative.clone()).unwrap();
        (details.cpu_cores, details.ram_mib, details.disk_size_gb, details.tpm_enabled_in_bios)
    }

    #[test]
    fn preflight() {
        let preflight = |cluster: &Cluster| preflight_requirements(cluster, &Policy::default()).unwrap();
        let mut cluster = cluster();
        let answer = preflight(&cluster);
        let ocp = answer.ocp.unwrap();
        assert_eq!(numbers(ocp.master.as_ref()), (4, 16384, 100, false));
        assert_eq!(numbers(ocp.worker.as_ref()), (2, 8192, 100, false));
        assert_eq!(ocp.master.unwrap().qualitative, None);
        let operators = answer.operators.unwrap();
        assert_eq!(operators.len(), OPERATORS.len());
        let of = |name: &str| {
            let found = operators.iter().find(|each| each.operator_name == name).unwrap();
            let both = found.requirements.clone().unwrap();
            let pair = |role| (numbers(role).0, numbers(role).1);
            (pair(both.master.as_ref()), pair(both.worker.as_ref()))
        };
        assert_eq!(of("odf"), ((6, 19456), (8, 19456)));
        assert_eq!(of("cnv"), ((4, 150), (2, 360)));
        assert_eq!(of("lvm"), ((1, 100), (1, 100)));
        assert_eq!(of("mce"), ((4, 16384), (4, 16384)));
        assert_eq!(of("openshift-ai"), ((0, 0), (8, 32768)));
        assert_eq!(of("lso"), ((0, 0), (0, 0)));

        cluster.control_plane_count = 1;
        cluster.disk_encryption = Some(DiskEncryption {
            enable_on: Some(RoleSet::Masters),
            mode: Some(DiskEncryptionMode::Tpmv2),
            ..DiskEncryption::default()
        });
        let single = preflight(&cluster);
        let mce = single.operators.unwrap().into_iter().find(|each| each.operator_name == "mce").unwrap();
        let mce = mce.requirements.unwrap();
        for role in [mce.master, mce.worker] {
            assert_eq!(numbers(role.as_ref()), (4, 16384, 0, false));
        }
        let ocp = single.ocp.unwrap();
        assert_eq!(numbers(ocp.master.as_ref()), (8, 16384, 100, true));
        assert_eq!(numbers(ocp.worker.as_ref()), (2, 8192, 100, false));
    }

    #[test]
    fn of_each_host() {
        let facts = facts(2).with_host(|host| host.record.host.role = Some(HostRole::Master));
        let list = cluster_host_requirements(&facts, &Requirements::built_in()).unwrap().0;
        let totals: Vec<_> = list.iter().map(|each| each.total.as_ref().unwrap().cpu_cores).collect();
        assert_eq!(totals, [4, 2]);
        assert_eq!(list[0].host_id, Some(facts.hosts[0].record.host.id));
        assert_eq!(list[0].operators, Some(vec![]));

        let list =
            cluster_host_requirements(&facts.with_operators(&["lvm", "lso"]), &Requirements::built_in());
        let first = list.unwrap().0.swap_remove(0);
        assert_eq!((first.ocp.unwrap().cpu_cores, first.total.unwrap().cpu_cores), (4, 5));
        let listed = first.operators.unwrap().into_iter().map(|each| {
            let details = each.requirements.unwrap();
            (each.operator_name, details.cpu_cores, details.ram_mib)
        });
        let expected = [("lso".to_owned(), 0, 0), ("lvm".to_owned(), 1, 100)];
        assert_eq!(listed.collect::<Vec<_>>(), expected);
    }
}
