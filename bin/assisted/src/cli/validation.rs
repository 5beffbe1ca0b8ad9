//! Validations for people: what failed, what was measured and required, and what to do.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::output::{printable, table};
use super::remedy;

/// One validation as the API shows it.
#[derive(Debug, Deserialize)]
pub struct Validation {
    pub id: String,
    pub status: String,
    #[serde(default)]
    pub message: String,
}

/// All validations of an object, in the order of the API.
pub fn read(info: &str) -> Vec<Validation> {
    let groups: Option<BTreeMap<String, Option<Vec<Validation>>>> =
        assisted_wire::embedded::read(info).ok().flatten();
    groups.into_iter().flatten().flat_map(|(_, group)| group.unwrap_or_default()).collect()
}

/// How many hold, and each that does not.
pub fn summary(info: &str) -> String {
    let all = read(info);
    let failing = all
        .iter()
        .filter(|validation| validation.status == "failure" || validation.status == "error")
        .count();
    let pending = all.iter().filter(|validation| validation.status == "pending").count();
    match (failing, pending) {
        _ if all.is_empty() => "none yet".to_owned(),
        (0, 0) => format!("all {} hold", all.len()),
        (failing, pending) => format!("{failing} failing, {pending} pending, {} in all", all.len()),
    }
}

/// A table of all validations, those that need attention first, and what to do about each that fails.
pub fn report(info: &str) -> String {
    let mut all = read(info);
    let order = |status: &str| {
        ["error", "failure", "pending", "success", "disabled"].iter().position(|one| *one == status)
    };
    all.sort_by_key(|validation| order(&validation.status));
    let rows = all.iter().map(|validation| {
        let mark = match validation.status.as_str() {
            "success" => "ok",
            "disabled" => "off",
            other => other,
        };
        [mark.to_owned(), validation.id.clone(), validation.message.clone()]
    });
    let mut text = table(["STATUS", "VALIDATION", "FOUND"], rows);
    let remedies: Vec<_> = all
        .iter()
        .filter(|validation| validation.status == "failure")
        .filter_map(|validation| {
            Some(format!("  {}: {}", printable(&validation.id), remedy::of(&validation.id)?))
        })
        .collect();
    if !remedies.is_empty() {
        text = format!("{text}\n\nWhat to do\n{}", remedies.join("\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = r#"{"hardware":[{"id":"has-inventory","status":"success","message":"Valid inventory exists for the host"},
        {"id":"has-min-memory","status":"failure","message":"The host is not eligible"}],"network":[{"id":"ntp-synced","status":"pending","message":"x"}]}"#;

    #[test]
    fn failures_come_first_and_say_what_to_do() {
        let text = report(INFO);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("failure") && lines[1].contains("has-min-memory"), "{text}");
        assert!(lines[2].starts_with("pending"), "{text}");
        assert!(text.contains("What to do\n  has-min-memory: "), "{text}");
    }

    #[test]
    fn the_summary_counts() {
        assert_eq!(summary(INFO), "1 failing, 1 pending, 3 in all");
        assert_eq!(summary(""), "none yet");
        assert_eq!(summary("garbage"), "none yet");
    }
}
