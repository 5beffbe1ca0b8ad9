//! `hostname-unique`, `hostname-valid`: a name that no other host of the cluster has, and that a node can have.

use super::View;
use crate::model::outcome::{Outcome, Status};
use crate::network::hostname;

const REMEDY: &str = "Give the host a name of its own, by its settings or by DHCP.";

pub(super) fn check_unique(view: &View<'_>) -> Outcome {
    if view.cluster.is_none() {
        return Outcome::suppressed();
    }
    if view.inventory.is_none() {
        return Outcome::awaits_inventory("Missing inventory");
    }
    let name = view.name();
    if view.scope.is_name_shared(name) {
        Outcome::failure(format!("Hostname {name} is not unique in cluster"))
            .measured(name.to_owned())
            .required("a name that no other host of the cluster has")
            .remedy(REMEDY)
    } else {
        Outcome::success(format!("Hostname {name} is unique in cluster"))
    }
}

pub(super) fn check_valid(view: &View<'_>) -> Outcome {
    if view.inventory.is_none() {
        return Outcome { status: Status::Failure, ..Outcome::awaits_inventory("Missing inventory") };
    }
    let name = view.name();
    let refused = |text: String| {
        let measured = if name.is_empty() { "no name" } else { name };
        Outcome::failure(text).measured(measured.to_owned()).required(hostname::PATTERN).remedy(REMEDY)
    };
    if hostname::is_forbidden(name) {
        refused(format!("The host name {name} is forbidden"))
    } else if !hostname::is_well_formed(name) {
        refused(format!("Hostname {name} is forbidden, hostname should match pattern {}", hostname::PATTERN))
    } else {
        Outcome::success(format!("Hostname {name} is allowed"))
    }
}
