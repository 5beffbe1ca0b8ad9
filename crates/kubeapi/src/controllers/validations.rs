//! Outcomes of validations, as objects show them.

use std::collections::BTreeMap;

use assisted_crd::common::ValidationResult;

/// The outcomes by category; a text that can't be read has none.
pub(super) fn read(text: &str) -> BTreeMap<String, Vec<ValidationResult>> {
    serde_json::from_str(text).unwrap_or_default()
}

/// The messages of outcomes whose status is meant, in the order of their ids, so that they are always joined alike.
pub(super) fn messages(
    results: &BTreeMap<String, Vec<ValidationResult>>,
    is_meant: impl Fn(&str) -> bool,
) -> String {
    let mut meant: Vec<_> = results.values().flatten().filter(|result| is_meant(&result.status)).collect();
    meant.sort_by(|one, other| one.id.cmp(&other.id));
    meant.iter().map(|result| result.message.as_str()).collect::<Vec<_>>().join(",")
}
