//! Image mode at installation (on-cluster layering): what a user may ask for, and what of a cluster fits it (ocl-day1 §B2, §B3).
//!
//! Everything here is a pure function of settings, of what stands in manifests, and of the facts of a cluster. The rules are
//! numbered V01 to V25 as in ocl-day1 §B3.2; each is a function, tells what is wrong and what to do, and is called where the
//! section says: when a manifest is uploaded, by the validations of clusters and hosts, and once more by the generator, which sees
//! what patches have made of the manifests.

pub mod cluster_rules;
pub mod containerfile;
pub mod findings;
pub mod generated;
pub mod host_rules;
pub mod input;
pub mod machine_os_config;
pub mod reference;
pub mod settings;
#[cfg(test)]
pub(crate) mod tests;
pub mod upload;
pub mod violation;

use crate::model::cluster::ClusterRecord;

pub use machine_os_config::MachineOsConfig;
pub use settings::OnClusterLayering;
pub use violation::{Rule, Violation};

/// What the cluster's user asks for; `None` unless it is enabled.
pub fn enabled(record: &ClusterRecord) -> Option<OnClusterLayering> {
    settings::together(overridden(record), settings::asked(record)).filter(OnClusterLayering::is_enabled)
}

/// What the overrides of a cluster's install config say of it.
pub fn overridden(record: &ClusterRecord) -> Option<OnClusterLayering> {
    let overrides = &record.cluster.install_config_overrides;
    // Hardly any cluster has it, and this is asked at each look: the word alone tells most of them.
    let named = overrides.as_bytes().windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD));
    named.then(|| settings::of_overrides(overrides)).flatten()
}

const WORD: &[u8] = b"onClusterLayering";

/// The namespace of MachineOSConfigs' secrets.
pub const NAMESPACE: &str = "openshift-machine-config-operator";
