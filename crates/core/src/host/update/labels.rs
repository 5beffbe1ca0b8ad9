//! Labels of the node that the host becomes, in the syntax of Kubernetes.

use std::collections::BTreeMap;

use assisted_wire::host_params::NodeLabelParams;

use super::text;
use crate::refusal::Refusal;

/// Longest name or value.
const LONGEST: usize = 63;
/// Longest prefix of a key.
const LONGEST_PREFIX: usize = 253;

/// The labels as they are stored: a JSON object.
pub(super) fn stored(labels: &[NodeLabelParams]) -> Result<String, Refusal> {
    let mut stored = BTreeMap::new();
    for NodeLabelParams { key, value } in labels {
        if !is_key(key) {
            return Err(invalid(key, "a key must be an optional DNS prefix with '/', and a name"));
        }
        if !(value.is_empty() || is_name(value)) {
            return Err(invalid(value, "a value must be empty or a name"));
        }
        stored.insert(key.as_str(), value.as_str());
    }
    text(&stored)
}

fn invalid(what: &str, why: &str) -> Refusal {
    Refusal::bad_request(format!(
        "node_labels: Invalid value: {what:?}: {why} of at most {LONGEST} alphanumeric characters, '-', '_' or '.', \
         that starts and ends with an alphanumeric character"
    ))
}

fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((prefix, name)) => is_name(name) && is_subdomain(prefix),
    }
}

fn is_name(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    text.len() <= LONGEST
        && text.starts_with(ends)
        && text.ends_with(ends)
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_subdomain(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= LONGEST_PREFIX
        && text.split('.').all(|label| {
            label.starts_with(ends) && label.ends_with(ends) && label.chars().all(|c| ends(c) || c == '-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(key: &str, value: &str) -> NodeLabelParams {
        NodeLabelParams { key: key.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn stored_as_an_object() {
        let labels = [label("node.ocs.openshift.io/storage", ""), label("a", "B_2")];
        assert_eq!(stored(&labels).unwrap(), r#"{"a":"B_2","node.ocs.openshift.io/storage":""}"#);
        assert_eq!(stored(&[]).unwrap(), "{}");
    }

    #[test]
    fn refused() {
        let long = "a".repeat(64);
        for (key, value) in [
            ("", ""),
            ("/a", ""),
            ("a/", ""),
            ("a/b/c", ""),
            ("A.b/c", ""),
            ("-a", ""),
            (&long, ""),
            ("a", &long),
            ("a", "b c"),
        ] {
            let refusal = stored(&[label(key, value)]).unwrap_err();
            assert_eq!(refusal.status, 400);
            assert!(refusal.reason.starts_with("node_labels: Invalid value: "), "{}", refusal.reason);
        }
    }
}
