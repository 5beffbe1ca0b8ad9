//! What can't change any more once the installation has begun (kube-api §5.2).

use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstall, AgentClusterInstallSpec};
use serde_json::{Map, Value};

use super::{ENDED, started};
use crate::admission::verdict::Denial;

/// Fields that may change at any time.
const ALLOWED: &[&str] = &["clusterMetadata", "ignitionEndpoint"];

/// One more, once the installation has ended: hosts may be added.
const ALLOWED_AT_END: &str = "provisionRequirements";

/// Words of field names that are written in capitals as a whole.
const ACRONYMS: &[&str] =
    &["api", "vip", "vips", "ssh", "url", "cidr", "id", "ntp", "http", "https", "json", "aws", "gcp"];

/// Checks a change of an object whose installation may have begun.
pub(super) fn check(old: &AgentClusterInstall, new: &AgentClusterInstall) -> Result<(), Denial> {
    let Some(reason) = started(new) else { return Ok(()) };
    let ended = ENDED.contains(&reason);
    let relevant = |spec: &AgentClusterInstallSpec| {
        let mut spec = serde_json::to_value(spec).unwrap_or_default();
        if let Value::Object(fields) = &mut spec {
            fields.retain(|name, _| {
                let is_allowed = ALLOWED.contains(&name.as_str()) || (ended && name == ALLOWED_AT_END);
                !is_allowed
            });
        }
        spec
    };
    let mut lines = String::new();
    differences("", Some(&relevant(&old.spec)), Some(&relevant(&new.spec)), &mut lines);
    if lines.is_empty() {
        return Ok(());
    }
    Err(Denial::bad_request(format!(
        "Attempted to change AgentClusterInstall.Spec which is immutable after install started, except for \
         ClusterMetadata,IgnitionEndpoint fields. Unsupported change: \n{lines}"
    )))
}

/// Writes a line for each value that differs.
fn differences(path: &str, old: Option<&Value>, new: Option<&Value>, lines: &mut String) {
    if old == new {
        return;
    }
    let (none, nothing) = (Map::new(), Vec::new());
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => members(path, old, new, lines),
        (Some(Value::Object(old)), None) if !old.is_empty() => members(path, old, &none, lines),
        (None, Some(Value::Object(new))) if !new.is_empty() => members(path, &none, new, lines),
        (Some(Value::Array(old)), Some(Value::Array(new))) => items(path, old, new, lines),
        (Some(Value::Array(old)), None) => items(path, old, &nothing, lines),
        (None, Some(Value::Array(new))) => items(path, &nothing, new, lines),
        (old, new) => {
            let text = |value: Option<&Value>| match value {
                None => "<nil>".to_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            };
            lines.push_str(&format!("\t{path}: ({} => {})\n", text(old), text(new)));
        }
    }
}

fn members(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, lines: &mut String) {
    let dot = if path.is_empty() { "" } else { "." };
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    for name in names {
        differences(&format!("{path}{dot}{}", field(name)), old.get(name), new.get(name), lines);
    }
}

fn items(path: &str, old: &[Value], new: &[Value], lines: &mut String) {
    for index in 0..old.len().max(new.len()) {
        differences(&format!("{path}[{index}]"), old.get(index), new.get(index), lines);
    }
}

/// `apiVIPs` is told as `APIVIPs`, as the type of the published definition names it.
fn field(name: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        let begins = letter.is_ascii_uppercase()
            && words.last().is_some_and(|word| word.ends_with(|last: char| !last.is_ascii_uppercase()));
        match words.last_mut() {
            Some(word) if !begins => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    let written = words.iter().map(|word| {
        if ACRONYMS.contains(&word.as_str()) {
            return word.to_uppercase();
        }
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    });
    written.collect()
}
