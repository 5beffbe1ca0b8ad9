//! `disk-encryption-requirements-satisfied`: what unlocks the encrypted disk is there (validations §2.4).

use assisted_ignition_spec::Excerpt;
use assisted_wire::cluster::{Cluster, DiskEncryptionMode as Mode};
use assisted_wire::cluster_params::RoleSet;
use assisted_wire::host::HostRole;
use assisted_wire::inventory::{Inventory, TpmVersion};
use assisted_wire::probe_responses::{ApiVipConnectivityResponse, TangConnectivityResponse};

use super::View;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;
use crate::model::topology;
use crate::validation::scope::Report;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    let day2 = view.host.is_day2();
    let roles = configured(cluster);
    if roles.is_none() && !day2 {
        return Outcome::suppressed();
    }
    let Some(inventory) = view.inventory else { return Outcome::awaits_inventory("Missing host inventory") };
    if day2 { of_day2(view, roles.is_some(), inventory) } else { of_day1(view, cluster, roles, inventory) }
}

/// The roles whose disks are encrypted; `None`: none.
fn configured(cluster: &Cluster) -> Option<RoleSet> {
    let roles = cluster.disk_encryption.as_ref().and_then(|encryption| encryption.enable_on);
    roles.filter(|roles| *roles != RoleSet::None)
}

fn of_day1(view: &View<'_>, cluster: &Cluster, roles: Option<RoleSet>, inventory: &Inventory) -> Outcome {
    if view.role == HostRole::AutoAssign {
        return Outcome::pending("Missing role assignment")
            .measured("no role")
            .required("a role")
            .remedy("Give the host a role, or wait until one is chosen for it.");
    }
    if !roles.is_some_and(|roles| topology::covers(roles, view.role)) {
        return Outcome::suppressed();
    }
    match cluster.disk_encryption.as_ref().and_then(|encryption| encryption.mode) {
        Some(Mode::Tang) => tang(view),
        Some(Mode::Tpmv2) | None => tpm(inventory),
    }
}

fn of_day2(view: &View<'_>, encrypted: bool, inventory: &Inventory) -> Outcome {
    let answer: Option<ApiVipConnectivityResponse> = match view.report(ReportKind::ApiVipConnectivity) {
        Report::Read(answer) => Some(answer),
        Report::Missing | Report::Broken => None,
    };
    let ignition = answer.and_then(|answer| Excerpt::read(answer.ignition.as_bytes()).ok());
    let Some(ignition) = ignition else {
        return if encrypted {
            Outcome::awaits_report("Missing ignition information")
        } else {
            Outcome::suppressed()
        };
    };
    let Some(clevis) = ignition.storage.luks.into_iter().next().and_then(|luks| luks.clevis) else {
        return Outcome::suppressed();
    };
    if clevis.tpm2 {
        tpm(inventory)
    } else if !clevis.tang.is_empty() {
        tang(view)
    } else {
        Outcome::failure("Invalid LUKS object in ignition - both TPM2 and Tang are not available")
            .measured("neither")
            .required("TPM 2.0 or Tang")
            .remedy(
                "Mend the disk encryption in the Ignition configuration of the cluster that the host joins.",
            )
    }
}

fn tpm(inventory: &Inventory) -> Outcome {
    let outcome = match inventory.tpm_version {
        Some(TpmVersion::V2_0) => return encryptable(Mode::Tpmv2),
        Some(TpmVersion::None) => {
            Outcome::failure("TPM version could not be found, make sure TPM is enabled in host's BIOS")
        }
        other => {
            let actual = other.map_or("", TpmVersion::as_str);
            Outcome::failure(format!(
                "The host's TPM version is not supported, expected-version: 2.0, actual-version: {actual}"
            ))
        }
    };
    let measured = inventory.tpm_version.map_or("unknown", TpmVersion::as_str);
    outcome.measured(measured).required("2.0").remedy("Enable TPM 2.0 in the machine's firmware.")
}

fn tang(view: &View<'_>) -> Outcome {
    let report = view.host.report(ReportKind::TangConnectivity);
    if report.is_empty() {
        return Outcome::awaits_report("Disk encryption check was not performed yet");
    }
    // Old agents don't know the step.
    if report.contains("failed to find action for step") {
        return Outcome::suppressed();
    }
    match serde_json::from_str::<TangConnectivityResponse>(report) {
        Ok(answer) if answer.is_success => encryptable(Mode::Tang),
        _ => Outcome::failure(format!(
            "Could not validate that all Tang servers are reachable and working: {report}"
        ))
        .measured("not every Tang server answered")
        .required("an answer of every Tang server")
        .remedy("Check that the host reaches every Tang server, and that their thumbprints are right."),
    }
}

fn encryptable(mode: Mode) -> Outcome {
    Outcome::success(format!("Installation disk can be encrypted using {mode}"))
}
