//! `has-inventory`, `inventory-not-partially-truncated`, `inventory-not-fully-truncated`: the host reported its inventory.

use assisted_wire::inventory::{InventoryTruncation, InventoryTruncationType as Type};

use super::View;
use crate::model::outcome::{Outcome, Status};

const REMEDY: &str =
    "Remove disks or interfaces that the host does not need, or raise AGENT_INVENTORY_MAX_SIZE.";

pub(super) fn check(view: &View<'_>) -> Outcome {
    if view.inventory.is_some() {
        Outcome::success("Valid inventory exists for the host")
    } else {
        let awaited = Outcome::awaits_inventory("Inventory has not been received for the host");
        Outcome { status: Status::Failure, ..awaited }
    }
}

pub(super) fn check_partially_truncated(view: &View<'_>) -> Outcome {
    truncated(view, |truncation| match truncation.r#type {
        Type::Partial => refused(text("Inventory is truncated (partial)", truncation)),
        Type::Full => Outcome::success("Inventory is not partially truncated (inventory fully truncated)"),
    })
}

pub(super) fn check_fully_truncated(view: &View<'_>) -> Outcome {
    truncated(view, |truncation| match truncation.r#type {
        Type::Partial => Outcome::success("Inventory is partially truncated"),
        Type::Full => refused(text("Inventory is truncated (full)", truncation)),
    })
}

fn truncated(view: &View<'_>, check: impl Fn(&InventoryTruncation) -> Outcome) -> Outcome {
    let Some(inventory) = view.inventory else { return Outcome::awaits_inventory("Missing inventory") };
    inventory.truncation.as_ref().map_or_else(|| Outcome::success("Inventory is not truncated"), check)
}

fn refused(text: String) -> Outcome {
    Outcome::failure(text).measured("a part of the inventory").required("the whole").remedy(REMEDY)
}

fn text(start: &str, truncation: &InventoryTruncation) -> String {
    match truncation.reasons.as_deref() {
        Some(reasons) if !reasons.is_empty() => format!("{start}: {}", reasons.join("; ")),
        _ => start.to_owned(),
    }
}
