//! `ocl-*`: what image mode asks of a cluster (ocl-day1 §B3.2). Evaluated only where it is enabled.

use super::View;
use crate::layering::cluster_rules as rules;
use crate::layering::input::Input;
use crate::layering::violation::Violation;
use crate::model::outcome::Outcome;

/// Faults that are told at once: more are no help.
const MOST: usize = 10;

fn outcome(
    view: &View<'_>,
    success: &'static str,
    required: &'static str,
    of: impl Fn(&Input<'_>) -> Vec<Violation>,
) -> Outcome {
    let violations = view.scope.layering().map(of).unwrap_or_default();
    if violations.is_empty() {
        return Outcome::success(success);
    }
    let texts: Vec<_> = violations
        .iter()
        .take(MOST)
        .map(|violation| format!("{} ({})", violation.text, violation.rule))
        .collect();
    let mut remedies: Vec<_> = violations.iter().take(MOST).map(|violation| violation.remedy).collect();
    remedies.dedup();
    let measured = if let [violation] = &violations[..] {
        violation.text.clone()
    } else {
        format!("{} faults", violations.len())
    };
    Outcome::failure(texts.join("; ")).measured(measured).required(required).remedy(remedies.join(" "))
}

pub(super) fn check_configuration(view: &View<'_>) -> Outcome {
    outcome(
        view,
        "Every MachineOSConfig can be built",
        "MachineOSConfigs and settings that can be built",
        |input| {
            let mut violations = rules::objects(input);
            violations.extend(rules::v23(input));
            violations.extend(rules::v25(input));
            violations
        },
    )
}

pub(super) fn check_present(view: &View<'_>) -> Outcome {
    outcome(
        view,
        "Each pool with hosts has its MachineOSConfig",
        "one MachineOSConfig for each pool with hosts",
        |input| {
            let mut violations = rules::v04(input);
            violations.extend(rules::v09(input));
            violations
        },
    )
}

pub(super) fn check_secrets(view: &View<'_>) -> Outcome {
    outcome(
        view,
        "The secrets of all MachineOSConfigs are there",
        "a secret with credentials for each that is named",
        rules::v10,
    )
}

pub(super) fn check_version(view: &View<'_>) -> Outcome {
    outcome(
        view,
        "Release, architecture and hosts know image mode",
        "a release, an architecture and hosts that know image mode",
        |input| {
            let mut violations = rules::v12(input);
            violations.extend(rules::v20(input));
            violations
        },
    )
}

pub(super) fn check_architecture(view: &View<'_>) -> Outcome {
    outcome(view, "All hosts are of one architecture", "hosts of one architecture", rules::v13)
}

pub(super) fn check_machine_configs(view: &View<'_>) -> Outcome {
    outcome(
        view,
        "No manifest replaces what the image brings",
        "no manifest that replaces what the image brings",
        |input| {
            let mut violations = rules::v14(input);
            violations.extend(rules::v15(input));
            violations
        },
    )
}

pub(super) fn check_reachable(view: &View<'_>) -> Outcome {
    outcome(view, "Nodes reach the registry with their image", "a registry that nodes reach", rules::v18)
}
