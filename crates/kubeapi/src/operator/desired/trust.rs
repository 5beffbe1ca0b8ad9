//! The authorities that service, image service and hosts trust, on OpenShift.

use std::collections::BTreeSet;

use assisted_base::pem;
use serde_json::{Value, json};

use super::{Input, annotated, labelled, object};
use crate::operator::conditions::{ReconcileError, reasons};
use crate::operator::{CLUSTER_AUTHORITIES, IMAGE_SERVICE, INGRESS_AUTHORITIES, TRUSTED_AUTHORITIES};

/// A copy of the authorities of the default ingress, which hosts trust.
pub(super) fn ingress(input: &Input<'_>) -> Option<Value> {
    let mut map = object(input, "v1", "ConfigMap", INGRESS_AUTHORITIES);
    map["data"] = json!(input.facts.ingress_authorities.as_ref()?);
    Some(map)
}

/// OpenShift fills in what the cluster trusts.
pub(super) fn cluster(input: &Input<'_>) -> Value {
    let map = object(input, "v1", "ConfigMap", CLUSTER_AUTHORITIES);
    labelled(map, "config.openshift.io/inject-trusted-cabundle", "true")
}

/// OpenShift fills in the authority of services.
pub(super) fn image_service(input: &Input<'_>) -> Value {
    let map = object(input, "v1", "ConfigMap", IMAGE_SERVICE);
    annotated(map, "service.beta.openshift.io/inject-cabundle", "true")
}

/// What the cluster trusts and the authorities of the mirrors, each once.
pub(super) fn trusted(input: &Input<'_>) -> Result<Value, ReconcileError> {
    let cluster = input.facts.cluster_authorities.as_deref().filter(|text| !text.is_empty());
    let cluster = cluster.ok_or_else(|| {
        ReconcileError::new(
            reasons::CONFIG,
            format!(
                "waiting for cluster trusted CA bundle to be injected in config map {CLUSTER_AUTHORITIES}"
            ),
        )
    })?;
    let mirror = input.facts.mirror.as_ref().and_then(|data| data.get("ca-bundle.crt")).map(String::as_str);
    let mut seen = BTreeSet::new();
    let mut bundle = String::new();
    for text in [Some(cluster), mirror].into_iter().flatten() {
        let certificates = pem::certificates(text.as_bytes()).map_err(|error| {
            ReconcileError::new(reasons::CONFIG, format!("authorities can't be read: {error}"))
        })?;
        let new: Vec<_> =
            certificates.into_iter().filter(|certificate| seen.insert(certificate.to_vec())).collect();
        bundle.push_str(&pem::write_certificates(&new));
    }
    let mut map = object(input, "v1", "ConfigMap", TRUSTED_AUTHORITIES);
    map["data"] = json!({"ca-bundle.crt": bundle});
    Ok(map)
}
