//! What an AgentServiceConfig must be before anything runs (kube-api §6.9).

use std::collections::BTreeMap;

use assisted_base::pem;
use assisted_crd::agent_install::agent_service_config::{AgentServiceConfig, AgentServiceConfigSpec};
use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;

use super::annotation;
use super::conditions::{ReconcileError, reasons};
use super::desired::{claim_name, has_image_service, is_given, quantity};
use super::facts::Facts;
use super::{DATABASE_CLAIM, FILES_CLAIM};

const GIB: u64 = 1 << 30;

/// The annotations that can't change, as they are to be kept: those that were seen first.
pub fn immutable_annotations(
    config: &AgentServiceConfig,
) -> Result<BTreeMap<String, String>, ReconcileError> {
    let kept =
        config.status.as_ref().map(|status| &status.immutable_annotations).filter(|kept| !kept.is_empty());
    let given = |name: &str| {
        config
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(name))
            .cloned()
            .unwrap_or_default()
    };
    let now: BTreeMap<_, _> =
        annotation::IMMUTABLE.iter().map(|name| ((*name).to_owned(), given(name))).collect();
    let Some(kept) = kept else { return Ok(now) };
    for (name, value) in &now {
        let before = kept.get(name).map(String::as_str).unwrap_or_default();
        let text = match (before, value.as_str()) {
            (before, value) if before == value => continue,
            ("", _) => format!("annotation {name} cannot be added after AgentServiceConfig creation"),
            (_, "") => format!("annotation {name} cannot be removed once set"),
            (before, value) => {
                format!("annotation {name} value cannot be changed from {before:?} to {value:?}")
            }
        };
        return Err(ReconcileError::new(reasons::IMMUTABLE_ANNOTATION, text));
    }
    Ok(kept.clone())
}

/// The first thing that is wrong.
///
/// # Errors
/// It, with the reason of the condition.
pub fn check(config: &AgentServiceConfig, facts: &Facts) -> Result<(), ReconcileError> {
    let spec = &config.spec;
    storage(config, facts)?;
    if !facts.is_openshift {
        let hosts = spec.ingress.as_ref();
        let hosts = hosts.map(|ingress| {
            (ingress.assisted_service_hostname.as_str(), ingress.image_service_hostname.as_str())
        });
        if hosts.is_none_or(|(service, images)| service.is_empty() || images.is_empty()) {
            return Err(ReconcileError::new(
                reasons::KUBERNETES_INGRESS_CONFIG_MISSING,
                "ingress configuration is required for non-OpenShift deployment",
            ));
        }
    }
    if !has_image_service(config) && !spec.os_images.is_empty() {
        return Err(ReconcileError::new(
            reasons::OS_IMAGES_SHOULD_BE_EMPTY,
            "osImages should be empty when image service is disabled",
        ));
    }
    Ok(())
}

/// Volumes are large enough; one that is there already is taken as it is.
fn storage(config: &AgentServiceConfig, facts: &Facts) -> Result<(), ReconcileError> {
    let AgentServiceConfigSpec { database_storage, filesystem_storage, image_storage, .. } = &config.spec;
    let (database, files) = (claim_name(config, DATABASE_CLAIM), claim_name(config, FILES_CLAIM));
    let mut small = Vec::new();
    let mut check = |what: &str, claim: &PersistentVolumeClaimSpec, least: u64, is_there: bool| {
        let (text, bytes) = requested(claim);
        if bytes < least && !is_there {
            small.push(format!("{what} storage {text} is too small, it must be at least {}Gi", least / GIB));
        }
    };
    if is_given(database_storage) {
        check("Database", database_storage, GIB, facts.claims.contains_key(&database));
    } else if facts.claims.contains_key(&database) {
        return Err(ReconcileError::new(
            reasons::STORAGE,
            format!(
                "databaseStorage can't be taken away, for the database would be left behind; give it back, or delete the \
                 claim {database} if it is of no use any more"
            ),
        ));
    }
    if is_given(filesystem_storage) {
        check("Filesystem", filesystem_storage, GIB, facts.claims.contains_key(&files));
    } else if facts.claims.contains_key(&files) {
        return Err(ReconcileError::new(
            reasons::STORAGE,
            format!(
                "filesystemStorage can't be taken away, for the files would be left behind; give it back, or delete the \
                 claim {files} if they are of no use any more"
            ),
        ));
    }
    if let Some(claim) = image_storage {
        check("Image", claim, 10 * GIB, facts.has_image_service);
    }
    if small.is_empty() {
        return Ok(());
    }
    Err(ReconcileError::new(reasons::STORAGE, small.join(". ") + "."))
}

fn requested(claim: &PersistentVolumeClaimSpec) -> (String, u64) {
    let requests = claim.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let text = requests
        .and_then(|requests| requests.get("storage"))
        .map_or_else(|| "0".to_owned(), |text| text.0.clone());
    let bytes = quantity(&text).unwrap_or_default();
    (text, bytes)
}

/// The one file of a config map with authorities.
///
/// # Errors
/// There are several, or it is no bundle of certificates.
pub fn os_image_authorities(data: &BTreeMap<String, String>) -> Result<(String, String), ReconcileError> {
    let failure = |text: String| ReconcileError::new(reasons::OS_IMAGE_CA_CERT_REF, text);
    let mut files = data.iter();
    let (Some((name, text)), None) = (files.next(), files.next()) else {
        return Err(failure(
            "ConfigMap referenced by OSImageCACertRef must contain exactly one key".to_owned(),
        ));
    };
    let wrong = |why: &str| failure(format!("file {name} does not contain a valid PEM certificate, {why}"));
    let end = "-----END CERTIFICATE-----";
    let rest = text.rsplit_once(end).map(|(_, rest)| rest);
    let mut blocks = 0;
    for block in pem::blocks(text.as_bytes()) {
        let block = block.map_err(|error| wrong(&error.to_string()))?;
        if !pem::is_certificate(&block.label) {
            return Err(wrong(&format!("unexpected PEM block type found {:?}", block.label)));
        }
        blocks += 1;
    }
    if blocks == 0 {
        return Err(wrong("certificate bundle is empty"));
    }
    if rest.is_some_and(|rest| !rest.trim().is_empty()) {
        return Err(wrong("trailing content found after the last certificate block"));
    }
    assisted_core::admission::field::certificate::bundle(text)
        .map_err(|error| wrong(&format!("failed to parse x509 certificate block: {error}")))?;
    Ok((name.clone(), text.clone()))
}

/// Members of the secret with further headers and query parameters.
pub const OS_IMAGE_PARAMS: &[&str] = &["headers", "query_params"];

/// Checks the members of that secret.
///
/// # Errors
/// It has none of them, or others.
pub fn os_image_params<'a>(mut members: impl Iterator<Item = &'a String>) -> Result<(), ReconcileError> {
    let mut any = false;
    if members.all(|member| {
        any = true;
        OS_IMAGE_PARAMS.contains(&member.as_str())
    }) && any
    {
        return Ok(());
    }
    Err(ReconcileError::new(
        reasons::OS_IMAGE_ADDITIONAL_PARAMS_REF,
        "secret referenced by OSImageAdditionalParamsRef is expected to contain either `headers` and/or `query_params` \
         and no other entries",
    ))
}
