//! The config of a single node: what its bootstrap made, with what the service has for this host on top
//! (installer-and-controller §A8).

use assisted_ignition_spec::merge::VERSIONS;
use assisted_ignition_spec::{Config, overlay};

/// Why two configs don't make one.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("the config that bootstrapping made is not an Ignition config: {0}")]
    Base(#[source] serde_json::Error),
    #[error("this host's config is not an Ignition config: {0}")]
    Host(#[source] serde_json::Error),
    #[error("the config that bootstrapping made has Ignition version {0:?}; 3.1.0 and 3.2.0 are known")]
    Version(String),
    #[error("this host's config can't be laid over the one that bootstrapping made: {0}")]
    Overlay(#[from] assisted_ignition_spec::MergeError),
}

/// Lays `host` over `base`. Where the host's config would get the rest from doesn't count: `base` is the rest.
///
/// # Errors
/// When one of them is no config of a known version, or Ignition would refuse the result.
pub fn merge(base: &[u8], host: &[u8]) -> Result<Vec<u8>, MergeError> {
    let base: Config = serde_json::from_slice(base).map_err(MergeError::Base)?;
    if !VERSIONS.contains(&base.ignition.version.as_str()) {
        return Err(MergeError::Version(base.ignition.version));
    }
    let mut host: serde_json::Value = serde_json::from_slice(host).map_err(MergeError::Host)?;
    if let Some(ignition) = host.get_mut("ignition").and_then(serde_json::Value::as_object_mut) {
        ignition.remove("config");
    }
    let merged = overlay(&base, &host.to_string())?;
    merged.to_json().map_err(MergeError::Base)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_hosts_own_config_wins() {
        let base = br#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,a"}},
            {"path":"/a"}]}}"#;
        let host = br#"{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://api-int:22623/config/master"}]}},
            "storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,b"}}]}}"#;
        let merged: Value = serde_json::from_slice(&merge(base, host).unwrap()).unwrap();
        assert_eq!(merged["ignition"], serde_json::json!({"version": "3.2.0"}));
        assert_eq!(merged["storage"]["files"][0]["contents"]["source"], "data:,b");
        assert_eq!(merged["storage"]["files"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn other_versions_are_refused() {
        let of = |version: &str| format!(r#"{{"ignition":{{"version":"{version}"}}}}"#).into_bytes();
        assert!(matches!(merge(&of("3.3.0"), &of("3.1.0")), Err(MergeError::Version(_))));
        assert!(matches!(merge(&of("3.2.0"), &of("3.3.0")), Err(MergeError::Overlay(_))));
        assert!(matches!(merge(b"x", &of("3.1.0")), Err(MergeError::Base(_))));
        assert!(matches!(merge(&of("3.1.0"), b"x"), Err(MergeError::Host(_))));
    }
}
