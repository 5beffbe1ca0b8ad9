//! Fields of records that are JSON inside a text, as clients see them: each is read here, and nowhere else.

use std::collections::BTreeMap;

use assisted_wire::cluster::Cluster;
use assisted_wire::embedded::read;
use assisted_wire::host::Host;
use assisted_wire::host_params::FencingCredentialsParams;
use assisted_wire::support_level::Usage;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::cluster::ClusterRecord;
use crate::model::host::HostRecord;

/// A list of texts; one that can't be read counts as empty.
pub fn texts(text: &str) -> Vec<String> {
    read(text).ok().flatten().unwrap_or_default()
}

/// Arguments that a user gives to the installer of a host.
pub fn installer_args(host: &Host) -> Vec<String> {
    texts(&host.installer_args)
}

/// Headers for the Ignition endpoint of a host.
pub fn ignition_endpoint_http_headers(record: &HostRecord) -> BTreeMap<String, String> {
    read(&record.ignition_endpoint_http_headers).ok().flatten().unwrap_or_default()
}

/// What fences a host; `None` when there is nothing, or nothing that can be read.
pub fn fencing_credentials(host: &Host) -> Option<FencingCredentialsParams> {
    read(&host.fencing_credentials).ok().flatten()
}

/// Ids of host validations that the user wants to be ignored, as they were given.
pub fn ignored_host_validations(record: &ClusterRecord) -> Vec<String> {
    texts(&record.ignored_host_validations)
}

/// Ids of cluster validations that the user wants to be ignored, as they were given.
pub fn ignored_cluster_validations(record: &ClusterRecord) -> Vec<String> {
    texts(&record.ignored_cluster_validations)
}

/// The features that a cluster uses, by name.
///
/// # Errors
///
/// The text can't be read.
pub fn feature_usage(text: &str) -> Result<BTreeMap<String, Usage>, serde_json::Error> {
    read(text).map(Option::unwrap_or_default)
}

/// Names of the features that a cluster uses; `None` when they can't be read.
pub fn used_features(cluster: &Cluster) -> Option<Vec<String>> {
    let usage: Option<BTreeMap<String, IgnoredAny>> = read(&cluster.feature_usage).ok()?;
    Some(usage.unwrap_or_default().into_keys().collect())
}

/// The network type that the install-config overrides ask for.
pub fn overridden_network_type(cluster: &Cluster) -> Option<String> {
    #[derive(Deserialize)]
    struct Overrides {
        networking: Option<Networking>,
    }
    #[derive(Deserialize)]
    struct Networking {
        #[serde(rename = "networkType")]
        network_type: Option<String>,
    }
    let overrides: Overrides = read(&cluster.install_config_overrides).ok()??;
    overrides.networking?.network_type.filter(|kind| !kind.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing;

    #[test]
    fn what_is_empty_or_unreadable_counts_as_nothing() {
        for text in ["", "{", "[1]"] {
            let cluster = Cluster {
                install_config_overrides: text.to_owned(),
                feature_usage: text.to_owned(),
                ..testing::cluster()
            };
            assert_eq!(overridden_network_type(&cluster), None, "{text}");
            assert_eq!(used_features(&cluster).is_some(), text.is_empty(), "{text}");
            assert!(texts(text).is_empty(), "{text}");
        }
        let cluster = Cluster {
            install_config_overrides: r#"{"networking": {"networkType": "Calico"}}"#.to_owned(),
            feature_usage: r#"{"Custom manifest": {"anything": 1}}"#.to_owned(),
            ..testing::cluster()
        };
        assert_eq!(overridden_network_type(&cluster).as_deref(), Some("Calico"));
        assert_eq!(used_features(&cluster), Some(vec!["Custom manifest".to_owned()]));
    }
}
