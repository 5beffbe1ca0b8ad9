//! What an Ignition config does, without its contents, which are secret.

use assisted_ignition_spec::Excerpt;
use serde::Serialize;

use crate::error::{Error, Result};

/// Flags of the agent that say where it belongs.
const URL_FLAG: &str = "--url";
const INFRA_ENV_FLAG: &str = "--infra-env-id";

/// A summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    pub version: String,
    /// Paths of the files that it writes.
    pub files: Vec<String>,
    /// Names of its systemd units.
    pub units: Vec<String>,
    /// Where the agent registers.
    pub service_url: Option<String>,
    /// The infra-env that it registers with.
    pub infra_env_id: Option<String>,
}

impl Config {
    /// Reads a config.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(config: &[u8]) -> Result<Self> {
        let none = |why: &str| Error::Archive(format!("config.ign is no Ignition config: {why}"));
        let document = Excerpt::read(config).map_err(|error| none(&error.to_string()))?;
        if document.ignition.version.is_empty() {
            return Err(none("it has no version"));
        }
        let texts = || document.systemd.units.iter().filter_map(|unit| unit.contents.as_deref());
        let flag = |name| texts().find_map(|text| flag(text, name));
        Ok(Self {
            version: document.ignition.version.clone(),
            service_url: flag(URL_FLAG),
            infra_env_id: flag(INFRA_ENV_FLAG),
            files: document.storage.files.into_iter().map(|file| file.path).collect(),
            units: document.systemd.units.into_iter().map(|unit| unit.name).collect(),
        })
    }
}

/// The value of a flag on a command line: the next word, or what follows `=`.
fn flag(text: &str, name: &str) -> Option<String> {
    let mut words = text.split_ascii_whitespace();
    while let Some(word) = words.next() {
        let value = match word.strip_prefix(name) {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(value) = value {
            return Some(value.trim_matches(['"', '\'']).to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_summed_up_without_its_contents() {
        let config = Config::read(
            br#"{"ignition": {"version": "3.2.0"},
                 "storage": {"files": [{"path": "/root/.docker/config.json", "contents": {"source": "data:,secret"}}]},
                 "systemd": {"units": [{"name": "selinux.service"}, {"name": "agent.service",
                   "contents": "[Service]\nExecStart=/usr/local/bin/agent --url http://h:8090 --infra-env-id=\"a-b\" --x\n"}]}}"#,
        )
        .unwrap();
        assert_eq!(
            config,
            Config {
                version: "3.2.0".into(),
                files: vec!["/root/.docker/config.json".into()],
                units: vec!["selinux.service".into(), "agent.service".into()],
                service_url: Some("http://h:8090".into()),
                infra_env_id: Some("a-b".into()),
            }
        );
        assert!(Config::read(b"variant: fcos").is_err());
        assert!(Config::read(b"{}").is_err());
        assert_eq!(Config::read(br#"{"ignition":{"version":"3.4.0"}}"#).unwrap().files.len(), 0);
        assert_eq!(flag("--url", "--url"), None);
    }
}
