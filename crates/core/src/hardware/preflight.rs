//! Requirements as the API lists them, before hosts are there and for the hosts that are (validations §4.5).

use assisted_wire::cluster::{Cluster, DiskEncryption, DiskEncryptionMode};
use assisted_wire::cluster_params::RoleSet;
use assisted_wire::requirements::{
    ClusterHostRequirements, ClusterHostRequirementsDetails as Details, ClusterHostRequirementsList,
    HostTypeHardwareRequirements, HostTypeHardwareRequirementsWrapper, PreflightHardwareRequirements,
};

use super::requirements::Requirements;
use super::selection::{self, HardwareError, SelectionInput};
use crate::facts::Facts;
use crate::validation::topology;

/// What a cluster requires of its hosts, by role.
///
/// # Errors
///
/// The table has no requirements for the cluster's version.
pub fn preflight_requirements(
    cluster: &Cluster,
    table: &Requirements,
) -> Result<PreflightHardwareRequirements, HardwareError> {
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
            master: Some(details(master, needs_tpm(encryption, "masters"))),
            worker: Some(details(&roles.worker, needs_tpm(encryption, "workers"))),
        }),
        operators: Some(Vec::new()),
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
            operators: Some(Vec::new()),
        })
    });
    hosts.collect::<Result<_, _>>().map(ClusterHostRequirementsList)
}

/// Whether disks of the hosts of a role (`masters`, `workers`, …) are encrypted with a TPM.
fn needs_tpm(encryption: Option<&DiskEncryption>, role: &str) -> bool {
    let covers = |set: RoleSet| set == RoleSet::All || set.as_str().split(',').any(|each| each == role);
    encryption.is_some_and(|encryption| {
        encryption.mode == Some(DiskEncryptionMode::Tpmv2) && encryption.enable_on.is_some_and(covers)
    })
}
