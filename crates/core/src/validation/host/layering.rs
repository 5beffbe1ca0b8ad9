//! `ocl-disk-compatible`, `ocl-build-resources`: what image mode asks of a host (ocl-day1 §B3.2). Evaluated only where the
//! cluster has it enabled.

use super::View;
use crate::layering::fault::Fault;
use crate::layering::host_rules as rules;
use crate::layering::input::Input;
use crate::model::facts::HostFacts;
use crate::model::outcome::Outcome;

fn judged(
    view: &View<'_>,
    success: &'static str,
    required: &'static str,
    of: impl Fn(&Input<'_>, &HostFacts) -> Option<Fault>,
) -> Outcome {
    let Some(input) = view.scope.layering() else { return Outcome::suppressed() };
    if view.inventory.is_none() {
        return Outcome::awaits_inventory("Missing inventory");
    }
    match of(input, view.host) {
        None => Outcome::success(success),
        Some(fault) => Outcome::failure(format!("{} ({})", fault.text, fault.rule))
            .measured(fault.text)
            .required(required)
            .remedy(fault.remedy),
    }
}

pub(super) fn check_disk(view: &View<'_>) -> Outcome {
    judged(
        view,
        "The image can be put onto the installation disk",
        "a plain installation disk that is not encrypted",
        rules::v16,
    )
}

pub(super) fn check_resources(view: &View<'_>) -> Outcome {
    judged(view, "The host has room for what image mode asks of it", "room to build an image", rules::v17)
}
