//! `ocl-disk-compatible`, `ocl-build-resources`: what image mode asks of a host (ocl-day1 §B3.2). Evaluated only where the
//! cluster has it enabled.

use super::View;
use crate::layering::host_rules as rules;
use crate::layering::input::Input;
use crate::layering::violation::Violation;
use crate::model::facts::HostFacts;
use crate::model::outcome::Outcome;

fn outcome(
    view: &View<'_>,
    success: &'static str,
    required: &'static str,
    of: impl Fn(&Input<'_>, &HostFacts) -> Option<Violation>,
) -> Outcome {
    let Some(input) = view.scope.layering() else { return Outcome::suppressed() };
    if view.inventory.is_none() {
        return Outcome::awaits_inventory("Missing inventory");
    }
    match of(input, view.host) {
        None => Outcome::success(success),
        Some(violation) => Outcome::failure(format!("{} ({})", violation.text, violation.rule))
            .measured(violation.text)
            .required(required)
            .remedy(violation.remedy),
    }
}

pub(super) fn check_disk(view: &View<'_>) -> Outcome {
    outcome(
        view,
        "The image can be put onto the installation disk",
        "a plain installation disk that is not encrypted",
        rules::v16,
    )
}

pub(super) fn check_resources(view: &View<'_>) -> Outcome {
    outcome(view, "The host has room for what image mode asks of it", "room to build an image", rules::v17)
}
