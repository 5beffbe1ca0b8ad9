//! Validations of a host, in the order of evaluation. A new one is a file and a line in [`CHECKS`].

mod compatible_agent;
mod connected;
mod container_images;
mod cpu;
mod default_route;
mod disk_encryption;
mod disk_speed;
mod disks;
mod dns_wildcard;
mod domain_resolution;
mod hostname;
mod ignition;
mod inventory;
mod ip_collisions;
mod iscsi_nic;
mod layering;
mod link_quality;
mod machine_cidr;
mod majority_group;
mod memory;
mod mtu;
mod ntp_synced;
mod overlapping_subnets;
mod platform;
mod skip_disks;
mod time_synced;
mod view;
mod vsphere_disk_uuid;

use assisted_wire::host::HostValidationId::{self as Id, *};
use assisted_wire::host::{HostRole, HostStage};

pub use self::connected::{connected_until, is_silent, stage_is_watched};
pub use self::container_images::invalid_images;
use self::view::View;
use super::ids::Category::{self, Hardware, Network, Operators};
use super::operator;
use super::results::Results;
use super::scope::Scope;
use crate::catalogue::hardware::{HardwareError, SelectionInput};
use crate::catalogue::operators::{HostView, OPERATORS, Operator};
use crate::model::facts::{Facts, HostFacts};
use crate::model::outcome::Outcome;

/// Why a host can't be judged at all: nothing of it is refreshed then (validations §1.2).
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    #[error("Inventory is not valid, Memory not detected")]
    NoMemory,
    #[error("Inventory is not valid, CPU not detected")]
    NoCpu,
    #[error("machine network {0:?} is not a network")]
    MachineNetwork(String),
    #[error(transparent)]
    Hardware(#[from] HardwareError),
}

/// When the outcome of a validation is left out of what the API shows.
#[derive(Clone, Copy)]
enum OmittedWhen {
    Never,
    /// Once the host rebooted into what was installed.
    AfterReboot,
    /// During the installation.
    InAnyStage,
}

#[derive(Clone, Copy)]
struct Check {
    id: Id,
    category: Category,
    omit: OmittedWhen,
    run: fn(&View<'_>) -> Outcome,
}

const fn check(id: Id, category: Category, run: fn(&View<'_>) -> Outcome) -> Check {
    Check { id, category, omit: OmittedWhen::Never, run }
}

const fn omitted(omit: OmittedWhen, check: Check) -> Check {
    Check { omit, ..check }
}

const CHECKS: &[Check] = &[
    omitted(OmittedWhen::AfterReboot, check(Connected, Network, connected::check)),
    omitted(OmittedWhen::AfterReboot, check(MediaConnected, Network, connected::check_media)),
    check(HasInventory, Hardware, inventory::check),
    check(InventoryNotPartiallyTruncated, Hardware, inventory::check_partially_truncated),
    check(InventoryNotFullyTruncated, Hardware, inventory::check_fully_truncated),
    check(HasMinCpuCores, Hardware, cpu::check_minimum),
    check(HasMinMemory, Hardware, memory::check_minimum),
    check(HasMinValidDisks, Hardware, disks::check),
    check(MachineCidrDefined, Network, machine_cidr::check_defined),
    check(HasCpuCoresForRole, Hardware, cpu::check_for_role),
    check(HasMemoryForRole, Hardware, memory::check_for_role),
    check(HostnameUnique, Hardware, hostname::check_unique),
    check(BelongsToMachineCidr, Network, machine_cidr::check_belongs),
    check(HostnameValid, Hardware, hostname::check_valid),
    check(IgnitionDownloadable, Network, ignition::check),
    check(BelongsToMajorityGroup, Network, majority_group::check),
    check(MtuValid, Network, mtu::check),
    check(ValidPlatformNetworkSettings, Network, platform::check_network_settings),
    omitted(OmittedWhen::AfterReboot, check(NtpSynced, Network, ntp_synced::check)),
    omitted(OmittedWhen::AfterReboot, check(TimeSyncedBetweenHostAndService, Network, time_synced::check)),
    check(ContainerImagesAvailable, Network, container_images::check),
    check(SufficientInstallationDiskSpeed, Hardware, disk_speed::check),
    check(SufficientNetworkLatencyRequirementForRole, Network, link_quality::check_latency),
    check(SufficientPacketLossRequirementForRole, Network, link_quality::check_loss),
    check(HasDefaultRoute, Network, default_route::check),
    check(ApiDomainNameResolvedCorrectly, Network, domain_resolution::check_api),
    check(ApiIntDomainNameResolvedCorrectly, Network, domain_resolution::check_api_int),
    check(AppsDomainNameResolvedCorrectly, Network, domain_resolution::check_apps),
    check(CompatibleWithClusterPlatform, Hardware, platform::check_compatible),
    check(DnsWildcardNotConfigured, Network, dns_wildcard::check),
    check(DiskEncryptionRequirementsSatisfied, Hardware, disk_encryption::check),
    check(NonOverlappingSubnets, Network, overlapping_subnets::check),
    check(VsphereDiskUuidEnabled, Hardware, vsphere_disk_uuid::check),
    omitted(OmittedWhen::InAnyStage, check(CompatibleAgent, Hardware, compatible_agent::check)),
    check(NoSkipInstallationDisk, Hardware, skip_disks::check_installation_disk),
    check(NoSkipMissingDisk, Hardware, skip_disks::check_missing),
    check(NoIpCollisionsInNetwork, Network, ip_collisions::check),
    check(NoIscsiNicBelongsToMachineCidr, Network, iscsi_nic::check),
];

/// Of hosts whose cluster is to be installed in image mode.
const OF_LAYERING: &[Check] = &[
    check(OclDiskCompatible, Hardware, layering::check_disk),
    check(OclBuildResources, Hardware, layering::check_resources),
];

/// Runs all validations of a host.
///
/// # Errors
///
/// What is known of the host makes no sense, so that nothing of it may be refreshed.
pub fn evaluate(facts: &Facts, host: &HostFacts) -> Result<Results<Id>, EvaluationError> {
    evaluate_in(&Scope::new(facts), host)
}

/// As [`evaluate`], with what the hosts of a cluster share read once for all of them.
///
/// # Errors
///
/// As [`evaluate`].
pub fn evaluate_in(scope: &Scope<'_>, host: &HostFacts) -> Result<Results<Id>, EvaluationError> {
    let view = View::new(scope, SelectionInput::of(scope.facts, host))?;
    let mut results = Results::with_capacity(CHECKS.len() + OPERATORS.len());
    let further = if scope.layering().is_some() { OF_LAYERING } else { &[] };
    for check in CHECKS.iter().chain(further) {
        view.run(check, &mut results);
    }
    view.run_operators(OPERATORS, &mut results);
    results.set_dependent(scope.asked_for_others());
    Ok(results)
}

/// Runs the validations of a host that depend on an operator: its own, and those of cores and memory in all.
///
/// # Errors
///
/// As [`evaluate`].
pub fn evaluate_operator(
    scope: &Scope<'_>,
    host: &HostFacts,
    operator: &Operator,
) -> Result<Results<Id>, EvaluationError> {
    let view = View::new(scope, SelectionInput::of(scope.facts, host))?;
    let mut results = Results::default();
    view.run_resources(&mut results);
    view.run_operators([operator], &mut results);
    Ok(results)
}

/// Whether a host has what a role takes, if it played it (state-machines §4.13); what operators check apart.
pub fn fits_role(scope: &Scope<'_>, host: &HostFacts, role: HostRole) -> bool {
    fits(scope, host, role, &[])
}

/// As [`fits_role`], and operators that store on the host would not refuse it either.
pub fn fits_role_and_operators(scope: &Scope<'_>, host: &HostFacts, role: HostRole) -> bool {
    const STORAGE: [Id; 4] = [
        LsoRequirementsSatisfied,
        OdfRequirementsSatisfied,
        CnvRequirementsSatisfied,
        LvmRequirementsSatisfied,
    ];
    fits(scope, host, role, &STORAGE)
}

fn fits(scope: &Scope<'_>, host: &HostFacts, role: HostRole, of_operators: &[Id]) -> bool {
    let may = match host.record.host.role.unwrap_or(HostRole::AutoAssign) {
        HostRole::AutoAssign => true,
        HostRole::Bootstrap => role == HostRole::Master,
        own => own == role,
    };
    let Ok(view) = View::new(scope, SelectionInput::trying(scope.facts, host, role)) else { return false };
    let mut results = Results::default();
    view.run_resources(&mut results);
    view.run_operators(OPERATORS.iter().filter(|each| of_operators.contains(&each.host)), &mut results);
    may && results.all(&[HasCpuCoresForRole, HasMemoryForRole])
        && (scope.cluster().is_none() || results.all(of_operators))
}

impl View<'_> {
    fn run(&self, check: &Check, results: &mut Results<Id>) {
        let stage = self.stage();
        let omitted = match check.omit {
            OmittedWhen::Never => false,
            OmittedWhen::InAnyStage => stage.is_some(),
            OmittedWhen::AfterReboot => matches!(
                stage,
                Some(
                    HostStage::Rebooting
                        | HostStage::WaitingForIgnition
                        | HostStage::Configuring
                        | HostStage::Joined
                        | HostStage::Done
                )
            ),
        };
        let disabled = self.scope.disabled_host.contains(&check.id);
        let outcome = if disabled { Outcome::disabled() } else { (check.run)(self) };
        results.push(check.id, check.category, outcome, omitted, &self.scope.ignored_host);
    }

    /// Cores and memory, which operators take of too.
    fn run_resources(&self, results: &mut Results<Id>) {
        for check in CHECKS.iter().filter(|check| matches!(check.id, HasCpuCoresForRole | HasMemoryForRole)) {
            self.run(check, results);
        }
    }

    /// Nobody asks what operators need of a host of a pool.
    fn run_operators<'o>(
        &self,
        operators: impl IntoIterator<Item = &'o Operator>,
        results: &mut Results<Id>,
    ) {
        let Some(cluster) = self.cluster else { return };
        let host = HostView::of(&self.selection);
        for each in operators {
            let outcome = operator::of_host(each, cluster, host.as_ref());
            results.push(each.host, Operators, outcome, false, &self.scope.ignored_host);
        }
    }
}

#[cfg(test)]
mod tests;
