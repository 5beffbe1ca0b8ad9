//! The install config: what the installer is told about a cluster (install-generation §2).
//!
//! It is made from the cluster as it is, and what a user overrides is laid over it. The text is JSON, which is YAML too.

mod common;
mod document;
mod effects;
mod overrides;
mod platform;
#[cfg(test)]
mod tests;

use assisted_wire::secret::Secret;
use serde_json::Value;

use crate::cluster::record::ClusterRecord;
use crate::facts::Facts;
use crate::infra_env::record::InfraEnvRecord;
use crate::rules::field::certificate;
use document::Document;

pub use effects::apply;

/// Why there is no install config. Values are not quoted: the pull secret is among them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallConfigError {
    #[error("Failed to find a network interface matching any machine network")]
    NoInterface,
    #[error("invalid cluster parameters, APIVip must be provided")]
    NoApiVip,
    #[error("invalid cluster parameters, IngressVip must be provided")]
    NoIngressVip,
    #[error("the fencing credentials of host {0} can't be read")]
    Fencing(String),
    #[error("json: {0}")]
    Overrides(String),
    #[error("additionalTrustBundle is no list of certificates in PEM form: {0}")]
    TrustBundle(String),
    #[error("there is no cluster")]
    NoCluster,
    #[error("the install config can't be written")]
    Unwritable,
}

/// The install config of a cluster with overrides laid over it; empty overrides are none.
///
/// The node addresses that are chosen for a cluster without a load balancer of its own are not in it: they are known once
/// they are allocated, when the installation is prepared.
///
/// # Errors
///
/// When a host or the cluster lacks what the platform needs, or the overrides don't fit.
pub fn text(facts: &Facts, overrides: &str) -> Result<Secret, InstallConfigError> {
    let record = facts.cluster.as_ref().ok_or(InstallConfigError::NoCluster)?;
    let mut document = built(facts, record)?;
    if !overrides.is_empty() {
        document = overrides::lay_over(document, overrides)?;
    }
    document.additional_trust_bundle = trust(&document.additional_trust_bundle, infra_envs(facts, record));
    certificate::bundle(&document.additional_trust_bundle).map_err(InstallConfigError::TrustBundle)?;
    serde_json::to_string(&document).map(Secret::from).map_err(|_| InstallConfigError::Unwritable)
}

fn built(facts: &Facts, record: &ClusterRecord) -> Result<Document, InstallConfigError> {
    let mut document = common::document(facts, record)?;
    platform::add(&mut document, facts, &record.cluster)?;
    Ok(document)
}

/// The infra-envs that are bound to the cluster.
fn infra_envs<'f>(facts: &'f Facts, record: &'f ClusterRecord) -> impl Iterator<Item = &'f InfraEnvRecord> {
    let id = record.cluster.id;
    facts.infra_envs.values().filter(move |record| record.infra_env.cluster_id == Some(id))
}

/// The overrides' authorities, then those of the infra-envs.
fn trust<'f>(overridden: &str, infra_envs: impl Iterator<Item = &'f InfraEnvRecord>) -> String {
    let own = infra_envs.map(|record| record.infra_env.additional_trust_bundle.as_str());
    let bundles: Vec<&str> =
        std::iter::once(overridden).chain(own).map(str::trim).filter(|bundle| !bundle.is_empty()).collect();
    bundles.join("\n")
}

/// The first JSON value of a text; what follows is ignored, as existing clients expect.
fn first_value(text: &str) -> Result<Value, InstallConfigError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next().unwrap_or(Ok(Value::Null));
    value.map_err(|error| InstallConfigError::Overrides(error.to_string()))
}
