//! `hostname-unique`, `hostname-valid`: a name that no other host of the cluster has, and that a node can have.

use super::View;
use crate::validation::{Outcome, Status};

/// Names that say nothing: those of a machine that was given none.
pub const FORBIDDEN: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];
/// What a name must look like.
pub const PATTERN: &str = "^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$";
/// The longest name, in characters.
pub const MAX_LENGTH: usize = 63;

const REMEDY: &str = "Give the host a name of its own, by its settings or by DHCP.";

/// Whether a name looks as [`PATTERN`] says.
pub fn matches_pattern(name: &str) -> bool {
    let label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len()) && label.bytes().all(allowed)
    };
    !name.starts_with('-') && name.split('.').all(label)
}

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
        Outcome::failure(text).measured(measured.to_owned()).required(PATTERN).remedy(REMEDY)
    };
    if FORBIDDEN.contains(&name) {
        refused(format!("The host name {name} is forbidden"))
    } else if name.chars().count() > MAX_LENGTH || !matches_pattern(name) {
        refused(format!("Hostname {name} is forbidden, hostname should match pattern {PATTERN}"))
    } else {
        Outcome::success(format!("Hostname {name} is allowed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern() {
        let long = "a".repeat(63);
        for good in ["a", "0", "node-1", "a.b.c", "a.-b-", "a-.b", &long] {
            assert!(matches_pattern(good), "{good}");
        }
        let longer = "a".repeat(64);
        for bad in ["", "-a", "A", "a_b", "a..b", ".a", "a.", "ä", "a b", "a\n", &longer] {
            assert!(!matches_pattern(bad), "{bad}");
        }
    }
}
