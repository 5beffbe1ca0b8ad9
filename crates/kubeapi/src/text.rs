//! Texts of objects, as requests have them.

use serde_json::Value;

/// Joined by commas, or nothing at all.
pub(crate) fn joined(list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| list.join(","))
}

/// A text that is set.
pub(crate) fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether two texts are the same JSON, in whatever notation.
pub(crate) fn same_json(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || read(one).is_some_and(|one| Some(one) == read(other))
}
