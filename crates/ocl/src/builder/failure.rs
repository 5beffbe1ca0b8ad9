//! Why a build ends, and whether the same may succeed when it is tried again (ocl-day1 §B12).

use assisted_wire::on_cluster_layering::LayeringErrorCode;

use crate::status::is_retriable;

/// What words in the output of a failed step mean that its surroundings failed, not the step: the network, or room on disk.
const INFRASTRUCTURE: [&str; 21] = [
    "no space left on device",
    "disk quota exceeded",
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "connection refused",
    "connection reset by peer",
    "connection timed out",
    "operation timed out",
    "network is unreachable",
    "no route to host",
    "tls handshake timeout",
    "i/o timeout",
    "curl error (6)",
    "curl error (7)",
    "curl error (28)",
    "cannot download",
    "failed to download metadata",
    "all mirrors were tried",
    "out of memory",
];
/// What registries and their clients say of credentials that don't do.
const REFUSED: [&str; 8] = [
    "unauthorized",
    "authentication required",
    "access to the requested resource is not authorized",
    "denied:",
    "requested access to the resource is denied",
    "invalid username/password",
    "status code 403",
    "403 (forbidden)",
];

/// A state of the build that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {reason}")]
pub struct Failed {
    pub code: LayeringErrorCode,
    /// For people to read; holds no secret.
    pub reason: String,
    /// Whether the same may succeed when it is tried again.
    pub retriable: bool,
}

impl Failed {
    /// One that is tried again if its code's ones are.
    pub(crate) fn new(code: LayeringErrorCode, reason: impl Into<String>) -> Self {
        Self { code, reason: super::redact(&reason.into()), retriable: is_retriable(code) }
    }

    /// One that no other attempt will mend.
    pub(crate) fn for_good(code: LayeringErrorCode, reason: impl Into<String>) -> Self {
        Self { retriable: false, ..Self::new(code, reason) }
    }

    /// For `map_err`.
    pub(crate) fn of<E: std::fmt::Display>(code: LayeringErrorCode, what: &str) -> impl FnOnce(E) -> Self {
        move |error| Self::new(code, format!("{what}: {error}"))
    }
}

/// What a failed step of a Containerfile was: the user's, unless what it wrote last tells of its surroundings.
pub fn classify_run(output: &str) -> LayeringErrorCode {
    match has(output, &INFRASTRUCTURE) {
        true => LayeringErrorCode::BuildInfra,
        false => LayeringErrorCode::BuildUser,
    }
}

/// Whether a registry has refused the credentials: then no other attempt will do better.
pub(crate) fn is_refusal(output: &str) -> bool {
    has(output, &REFUSED)
}

fn has(output: &str, words: &[&str]) -> bool {
    let output = output.to_lowercase();
    words.iter().any(|word| output.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_a_step() {
        use LayeringErrorCode::{BuildInfra, BuildUser};
        for (output, code) in [
            ("No package strase available.\nError: Unable to find a match: strase", BuildUser),
            ("exit status 1", BuildUser),
            ("", BuildUser),
            ("Curl error (6): Couldn't resolve host name for https://mirror/", BuildInfra),
            ("cp: error writing '/x': No space left on device", BuildInfra),
            ("dial tcp 10.0.0.1:443: i/o timeout", BuildInfra),
        ] {
            assert_eq!(classify_run(output), code, "{output}");
        }
        assert!(is_refusal("unexpected status from HEAD request: 401 Unauthorized"));
        assert!(!is_refusal("connection refused"));
    }

    #[test]
    fn refusals_are_not_tried_again() {
        assert!(Failed::new(LayeringErrorCode::Push, "x").retriable);
        assert!(!Failed::for_good(LayeringErrorCode::Push, "x").retriable);
        assert!(!Failed::new(LayeringErrorCode::BuildUser, "x").retriable);
        assert_eq!(Failed::new(LayeringErrorCode::Verify, "x").to_string(), "verify: x");
    }
}
