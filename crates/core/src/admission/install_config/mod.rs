//! The install config: what the installer is told about a cluster (install-generation §2).
//!
//! It is made from the cluster as it is, and what a user overrides is laid over it. The text is JSON, which is YAML too.

#[cfg(test)]
mod checked;
mod common;
mod document;
mod effects;
mod overrides;
mod platform;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod tests;

use assisted_base::version::below;
use assisted_wire::secret::Secret;
use serde_json::Value;

use crate::admission::field::certificate;
use crate::layering::settings::{asked, together};
use crate::model::cluster::ClusterRecord;
use crate::model::facts::Facts;
use crate::model::infra_env::InfraEnvRecord;
use document::{Document, ImageSource};

pub use crate::layering::OnClusterLayering;
pub use effects::apply;
pub(crate) use effects::note_layering;

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

/// What goes into a cluster's install config besides what the cluster is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Where else images that are named by digest are read: a registry, or a part of one, with its mirrors.
    pub mirrors: Vec<(String, Vec<String>)>,
    /// Bundles of authorities that the cluster trusts, in PEM form: the vendor's, then those of the mirrors.
    pub authorities: Vec<String>,
}

/// The install config of a cluster with overrides laid over it; empty overrides are none. The same facts give the same text.
///
/// # Errors
///
/// When a host or the cluster lacks what the platform needs, or the overrides don't fit.
pub fn text(facts: &Facts, overrides: &str, additions: &Additions) -> Result<Secret, InstallConfigError> {
    let record = facts.cluster.as_ref().ok_or(InstallConfigError::NoCluster)?;
    let mut document = built(facts, record)?;
    mirrors(&mut document, record, additions);
    if !overrides.is_empty() {
        document = overrides::apply(document, overrides)?;
    }
    let overridden = document.on_cluster_layering.take();
    document.on_cluster_layering = together(overridden, asked(record));
    if let Some(layering) = &document.on_cluster_layering {
        layering.check(&facts.policy).map_err(InstallConfigError::Overrides)?;
    }
    let overridden = std::mem::take(&mut document.additional_trust_bundle);
    let bundle = trust(&overridden, &additions.authorities, infra_envs(facts, record));
    certificate::bundle(&bundle).map_err(InstallConfigError::TrustBundle)?;
    // The installer takes fewer forms of PEM than we do.
    let written = certificate::written(bundle.as_bytes()).map_err(InstallConfigError::TrustBundle)?;
    written.trim_end().clone_into(&mut document.additional_trust_bundle);
    serde_json::to_string(&document).map(Secret::from).map_err(|_| InstallConfigError::Unwritable)
}

/// The copy that the installer is given: without what it does not know.
///
/// # Errors
///
/// [`InstallConfigError::Unwritable`] for a text that is no install config.
pub fn for_installer(config: &Secret) -> Result<Secret, InstallConfigError> {
    let read: Result<Document, _> = serde_json::from_str(config.expose());
    let document = read.map(|document| Document { on_cluster_layering: None, ..document });
    let text = document.and_then(|document| serde_json::to_string(&document));
    text.map(Secret::from).map_err(|_| InstallConfigError::Unwritable)
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

/// Mirrors, under the name that the version knows (install-generation §2.1).
fn mirrors(document: &mut Document, record: &ClusterRecord, additions: &Additions) {
    let source = |(source, mirrors): &(String, Vec<String>)| ImageSource {
        source: source.clone(),
        mirrors: mirrors.clone(),
    };
    let sources = additions.mirrors.iter().map(source).collect();
    if below(&record.cluster.openshift_version, 4, 14) {
        document.image_content_sources = sources;
    } else {
        document.image_digest_sources = sources;
    }
}

/// The overrides' authorities, then those that are added, then those of each infra-env and of its mirrors.
fn trust<'f>(
    overridden: &str,
    added: &[String],
    infra_envs: impl Iterator<Item = &'f InfraEnvRecord>,
) -> String {
    let own = infra_envs.flat_map(|record| {
        let mirrors = record.mirror_registry.as_ref().map(|mirrors| mirrors.authorities.as_str());
        [record.infra_env.additional_trust_bundle.as_str(), mirrors.unwrap_or_default()]
    });
    let all = std::iter::once(overridden).chain(added.iter().map(String::as_str)).chain(own);
    all.map(str::trim).filter(|bundle| !bundle.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The first JSON value of a text; what follows is ignored, as existing clients expect.
fn first_value(text: &str) -> Result<Value, InstallConfigError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next().unwrap_or(Ok(Value::Null));
    value.map_err(|error| InstallConfigError::Overrides(error.to_string()))
}
