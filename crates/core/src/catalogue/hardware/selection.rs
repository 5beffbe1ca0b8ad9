//! Which of the requirements apply to a host (validations §4.2).

use assisted_wire::host::HostRole;
use assisted_wire::inventory::Inventory;
use assisted_wire::requirements::ClusterHostRequirementsDetails as Details;

use super::selection_input::SelectionInput;
use crate::catalogue::operators;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology;
use crate::policy::{Requirements, RoleRequirements};

/// How much less memory than required a host may have, MiB: firmware keeps some to itself.
pub const MEMORY_TOLERANCE_MIB: i64 = 100;

/// Why the requirements of a host can't be determined.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    #[error("requirements for version {0} not found")]
    NotFound(String),
    #[error("Illegal role defined: {0}")]
    IllegalRole(HostRole),
}

/// The least that any role requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minimum {
    pub cpu_cores: i64,
    pub ram_mib: i64,
}

/// The OpenShift version that a host is meant for: that of its cluster, or of its infra-env for hosts that are added
/// to an installed cluster or wait in a pool.
pub fn version_of<'a>(facts: &'a Facts, host: &HostFacts) -> &'a str {
    let infra_env = || {
        let id = host.record.host.infra_env_id?;
        facts.infra_envs.get(&id).map(|record| record.infra_env.openshift_version.as_str())
    };
    match &facts.cluster {
        Some(record) if !topology::is_day2(&record.cluster) => &record.cluster.openshift_version,
        Some(record) => {
            infra_env().filter(|version| !version.is_empty()).unwrap_or(&record.cluster.openshift_version)
        }
        None => infra_env().unwrap_or_default(),
    }
}

/// Whether the machine is a small one that may become an edge worker.
pub fn is_edge_worker(inventory: &Inventory, product_names: &[String]) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(' ', "");
    let product =
        inventory.system_vendor.as_ref().map(|vendor| plain(&vendor.product_name)).unwrap_or_default();
    inventory.cpu.as_ref().is_some_and(|cpu| cpu.architecture == "aarch64")
        && product_names.iter().any(|name| plain(name) == product)
}

/// Requirements of OpenShift itself, without its operators.
///
/// # Errors
///
/// The table has none for the version, or the role is none that a host can be installed in.
pub fn base(table: &Requirements, input: &SelectionInput<'_>) -> Result<Details, HardwareError> {
    let roles = of_host_version(table, input)?;
    let Some(cluster) = &input.facts.cluster else {
        return Ok(smallest_disk(roles).clone());
    };
    let products = &input.facts.policy.hardware.edge_workers_product_names;
    let is_edge = || input.inventory.is_some_and(|inventory| is_edge_worker(inventory, products));
    match input.role {
        HostRole::Master if topology::is_single_node(&cluster.cluster) => Ok(roles.sno.clone()),
        HostRole::Master => Ok(roles.master.clone()),
        HostRole::Arbiter => Ok(roles.arbiter.clone()),
        HostRole::Worker | HostRole::AutoAssign if is_edge() => Ok(roles.edge_worker.clone()),
        HostRole::Worker | HostRole::AutoAssign => Ok(roles.worker.clone()),
        HostRole::Bootstrap => Err(HardwareError::IllegalRole(input.role)),
    }
}

/// Requirements of OpenShift and of the cluster's operators.
///
/// # Errors
///
/// As [`base`].
pub fn total(table: &Requirements, input: &SelectionInput<'_>) -> Result<Details, HardwareError> {
    let mut total = base(table, input)?;
    if let Some(view) = operators::HostView::of(input) {
        for (_, extra) in operators::requirements(&view) {
            total.cpu_cores = total.cpu_cores.saturating_add(extra.cpu_cores);
            total.ram_mib = total.ram_mib.saturating_add(extra.ram_mib);
        }
    }
    Ok(total)
}

/// The least that any role requires of a host.
///
/// # Errors
///
/// The table has none for the version.
pub fn minimum(table: &Requirements, input: &SelectionInput<'_>) -> Result<Minimum, HardwareError> {
    let roles = of_host_version(table, input)?;
    let single = input.facts.cluster.as_ref().is_some_and(|record| topology::is_single_node(&record.cluster));
    let master = if single { &roles.sno } else { &roles.master };
    Ok(Minimum {
        cpu_cores: master.cpu_cores.min(roles.worker.cpu_cores),
        ram_mib: master.ram_mib.min(roles.worker.ram_mib),
    })
}

fn of_host_version<'t>(
    table: &'t Requirements,
    input: &SelectionInput<'_>,
) -> Result<&'t RoleRequirements, HardwareError> {
    let version = version_of(input.facts, input.host);
    table.of_version(version).ok_or_else(|| HardwareError::NotFound(version.to_owned()))
}

/// Of worker, master and arbiter the one with the smallest disk, in that preference.
fn smallest_disk(roles: &RoleRequirements) -> &Details {
    let mut smallest = &roles.worker;
    for other in [&roles.master, &roles.arbiter] {
        if other.disk_size_gb < smallest.disk_size_gb {
            smallest = other;
        }
    }
    smallest
}
