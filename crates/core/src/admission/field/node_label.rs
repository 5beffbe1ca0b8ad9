//! Labels of nodes, as Kubernetes has them.

use super::{Invalidity, is_label};

const LONGEST_NAME: usize = 63;
const LONGEST_PREFIX: usize = 253;

/// Checks the key and the value of a label.
pub fn check(label: &str, text: &str) -> Result<(), Invalidity> {
    key(label).map_err(|why| format!("node_labels: Invalid value: {label:?}: {why}"))?;
    value(text).map_err(|why| format!("node_labels: Invalid value: {text:?}: {why}"))
}

/// Checks a key.
pub fn key(key: &str) -> Result<(), &'static str> {
    if is_key(key) {
        return Ok(());
    }
    Err(
        "a key consists of letters, digits, '-', '_' or '.', starts and ends with a letter or digit, has at most 63 \
         characters, and may have a DNS subdomain and '/' before it",
    )
}

/// Checks a value.
pub fn value(value: &str) -> Result<(), &'static str> {
    if value.is_empty() || is_name(value) {
        return Ok(());
    }
    Err(
        "a value consists of letters, digits, '-', '_' or '.', starts and ends with a letter or digit, and has at most 63 \
         characters",
    )
}

fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => {
            prefix.len() <= LONGEST_PREFIX && prefix.split('.').all(is_label) && is_name(name)
        }
        None => is_name(key),
    }
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= LONGEST_NAME
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        for (key, value) in
            [("a", ""), ("node.ocs.openshift.io/storage", "x_Y.z-1"), ("node-role.kubernetes.io/infra", "")]
        {
            assert_eq!(check(key, value), Ok(()), "{key}={value}");
        }
        let long = &*"a".repeat(64);
        for (key, value, quoted) in [
            ("", "", "\"\""),
            ("a/b/c", "", "\"a/b/c\""),
            ("/a", "", "\"/a\""),
            ("a", "-", "\"-\""),
            ("A b", "", "\"A b\""),
            ("a/", "", "\"a/\""),
            ("A.b/c", "", "\"A.b/c\""),
            ("a", "b c", "\"b c\""),
            (long, "", "\"aaa"),
            ("a", long, "\"aaa"),
        ] {
            assert!(
                check(key, value).unwrap_err().starts_with(&format!("node_labels: Invalid value: {quoted}")),
                "{key}"
            );
        }
    }
}
