//! `ocl-*`: what image mode asks of a cluster (ocl-day1 §B3.2). Evaluated only where it is enabled.

use super::View;
use crate::layering::cluster_rules as rules;
use crate::layering::fault::Fault;
use crate::layering::input::Input;
use crate::model::outcome::Outcome;

/// Faults that are told at once: more are no help.
const MOST: usize = 10;

fn judged(
    view: &View<'_>,
    success: &'static str,
    required: &'static str,
    of: impl Fn(&Input<'_>) -> Vec<Fault>,
) -> Outcome {
    let faults = view.scope.layering().map(of).unwrap_or_default();
    if faults.is_empty() {
        return Outcome::success(success);
    }
    let texts: Vec<_> =
        faults.iter().take(MOST).map(|fault| format!("{} ({})", fault.text, fault.rule)).collect();
    let mut remedies: Vec<_> = faults.iter().take(MOST).map(|fault| fault.remedy).collect();
    remedies.dedup();
    let measured =
        if let [fault] = &faults[..] { fault.text.clone() } else { format!("{} faults", faults.len()) };
    Outcome::failure(texts.join("; ")).measured(measured).required(required).remedy(remedies.join(" "))
}

pub(super) fn check_configuration(view: &View<'_>) -> Outcome {
    judged(
        view,
        "Every MachineOSConfig can be built",
        "MachineOSConfigs and settings that can be built",
        |input| {
            let mut faults = rules::objects(input);
            faults.extend(rules::v23(input));
            faults.extend(rules::v25(input));
            faults
        },
    )
}

pub(super) fn check_present(view: &View<'_>) -> Outcome {
    judged(
        view,
        "Each pool with hosts has its MachineOSConfig",
        "one MachineOSConfig for each pool with hosts",
        |input| {
            let mut faults = rules::v04(input);
            faults.extend(rules::v09(input));
            faults
        },
    )
}

pub(super) fn check_secrets(view: &View<'_>) -> Outcome {
    judged(
        view,
        "The secrets of all MachineOSConfigs are there",
        "a secret with credentials for each that is named",
        rules::v10,
    )
}

pub(super) fn check_version(view: &View<'_>) -> Outcome {
    judged(
        view,
        "Release, architecture and hosts know image mode",
        "a release, an architecture and hosts that know image mode",
        |input| {
            let mut faults = rules::v12(input);
            faults.extend(rules::v20(input));
            faults
        },
    )
}

pub(super) fn check_architecture(view: &View<'_>) -> Outcome {
    judged(view, "All hosts are of one architecture", "hosts of one architecture", rules::v13)
}

pub(super) fn check_machine_configs(view: &View<'_>) -> Outcome {
    judged(
        view,
        "No manifest replaces what the image brings",
        "no manifest that replaces what the image brings",
        |input| {
            let mut faults = rules::v14(input);
            faults.extend(rules::v15(input));
            faults
        },
    )
}

pub(super) fn check_reachable(view: &View<'_>) -> Outcome {
    judged(view, "Nodes reach the registry with their image", "a registry that nodes reach", rules::v18)
}
