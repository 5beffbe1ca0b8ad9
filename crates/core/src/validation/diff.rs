//! What changed between the stored results and new ones, for the events (validations §1.5).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::ids::{Category, ValidationId};
use super::results::Results;
use crate::model::outcome::{Status, Text};

/// How a validation changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It fails now.
    Failed {
        /// Whether it succeeded before, rather than being unknown.
        used_to_succeed: bool,
    },
    /// It failed before, and succeeds now.
    Fixed,
    /// Any other change; only the service's own log has it.
    Other,
}

/// A validation whose status changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<I> {
    pub id: I,
    pub category: Category,
    pub kind: ChangeKind,
    pub from: Status,
    pub to: Status,
    /// The new message.
    pub message: Text,
}

impl<I: ValidationId> Change<I> {
    /// What the event says of a failure; `None` when it is none.
    pub fn failure_message(&self) -> Option<&'static str> {
        match self.kind {
            ChangeKind::Failed { used_to_succeed: true } => Some("that used to succeed is now failing"),
            ChangeKind::Failed { used_to_succeed: false } => Some("failed"),
            ChangeKind::Fixed | ChangeKind::Other => None,
        }
    }
}

#[derive(Deserialize)]
struct StoredValidation<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    status: Status,
}

/// The validations that are in the stored text and in the new results with another status, by category and in the
/// stored order. A text that can't be read counts as empty.
pub fn diff<I: ValidationId>(old_info: &str, new: &Results<I>) -> Vec<Change<I>> {
    let old: HashMap<Cow<'_, str>, Status> = stored(old_info).into_iter().collect();
    let mut changes = Vec::new();
    for entry in new.by_category().into_values().flatten() {
        let to = entry.outcome.status;
        let Some(&from) = old.get(entry.id.text()).filter(|from| **from != to) else { continue };
        let kind = match (from, to) {
            (_, Status::Failure) => ChangeKind::Failed { used_to_succeed: from == Status::Success },
            (Status::Failure, Status::Success) => ChangeKind::Fixed,
            _ => ChangeKind::Other,
        };
        let message = entry.outcome.message.clone();
        changes.push(Change { id: entry.id, category: entry.category, kind, from, to, message });
    }
    changes
}

/// The validations of a stored text with their status; none of one that can't be read.
fn stored(info: &str) -> Vec<(Cow<'_, str>, Status)> {
    let stored: BTreeMap<&str, Vec<StoredValidation<'_>>> = serde_json::from_str(info).unwrap_or_default();
    stored.into_values().flatten().map(|entry| (entry.id, entry.status)).collect()
}

/// The validations of a stored text that fail.
pub fn failing(info: &str) -> Vec<String> {
    let failing = stored(info).into_iter().filter(|(_, status)| *status == Status::Failure);
    failing.map(|(id, _)| id.into_owned()).collect()
}

/// The validations that succeeded in one stored text and fail in another.
pub fn broken_since(old: &str, new: &str) -> Vec<String> {
    let mut broken = failing(new);
    let old: HashMap<Cow<'_, str>, Status> = stored(old).into_iter().collect();
    broken.retain(|id| old.get(id.as_str()) == Some(&Status::Success));
    broken
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostValidationId as H;

    use super::*;
    use crate::model::outcome::Outcome;
    use crate::validation::settings::IgnoredValidations;

    fn results(entries: &[(H, Outcome)]) -> Results<H> {
        let mut results = Results::default();
        for (id, outcome) in entries {
            results.push(
                *id,
                Category::Hardware,
                outcome.clone(),
                false,
                &IgnoredValidations::Ids(Vec::new()),
            );
        }
        results
    }

    #[test]
    fn kinds() {
        let old = results(&[
            (H::HasInventory, Outcome::success("")),
            (H::HasMinMemory, Outcome::pending("")),
            (H::HasMinCpuCores, Outcome::failure("")),
            (H::HasMinValidDisks, Outcome::failure("")),
            (H::HostnameValid, Outcome::success("same")),
        ])
        .to_info();
        let new = results(&[
            (H::HasInventory, Outcome::failure("x")),
            (H::HasMinMemory, Outcome::failure("")),
            (H::HasMinCpuCores, Outcome::success("")),
            (H::HasMinValidDisks, Outcome::pending("")),
            (H::HostnameValid, Outcome::success("other text")),
            (H::HostnameUnique, Outcome::failure("first seen")),
        ]);
        let changes = diff(&old, &new);
        let kinds: Vec<_> = changes.iter().map(|change| (change.id, change.kind)).collect();
        assert_eq!(
            kinds,
            [
                (H::HasInventory, ChangeKind::Failed { used_to_succeed: true }),
                (H::HasMinMemory, ChangeKind::Failed { used_to_succeed: false }),
                (H::HasMinCpuCores, ChangeKind::Fixed),
                (H::HasMinValidDisks, ChangeKind::Other),
            ]
        );
        assert_eq!(changes[0].message, "x");
        assert_eq!(changes[0].failure_message(), Some("that used to succeed is now failing"));
        assert!(diff("", &new).is_empty());
        assert!(diff("not json", &new).is_empty());
        assert!(diff(&new.to_info(), &new).is_empty());
    }
}
