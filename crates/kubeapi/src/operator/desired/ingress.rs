//! Ingresses, where there are no routes, and their certificate, which the operator makes and rotates unless somebody else keeps it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Input, annotated, has_image_service, labelled, object};
use crate::admission::certificate::{self, Stored};
use crate::operator::conditions::{ReconcileError, reasons};
use crate::operator::facts::IngressCertificate;
use crate::operator::{IMAGE_SERVICE, SERVICE};

/// The controller of nginx refuses what is larger than 1 MiB unless it is told otherwise, as logs of hosts are, and collects an answer
/// before it passes it on, as large as an image is. Others know no such annotations.
const UNLIMITED: [(&str, &str); 2] = [
    ("nginx.ingress.kubernetes.io/proxy-body-size", "0"),
    ("nginx.ingress.kubernetes.io/proxy-buffering", "off"),
];

/// The secret of an ingress.
pub(super) fn secret_name(name: &str) -> String {
    format!("{name}-ingress")
}

/// Whether hosts are told whom to trust: a certificate that somebody else brings may be one that everybody trusts.
pub(super) fn has_authorities(input: &Input<'_>) -> bool {
    match &input.facts.ingress_certificate {
        IngressCertificate::Foreign { authorities } => !authorities.is_empty(),
        IngressCertificate::Missing | IngressCertificate::Own(_) => true,
    }
}

/// The names that the certificate is for.
pub fn names(input: &Input<'_>) -> Vec<String> {
    let Some(ingress) = &input.config.spec.ingress else { return Vec::new() };
    let mut names = vec![ingress.assisted_service_hostname.clone()];
    if has_image_service(input.config) {
        names.push(ingress.image_service_hostname.clone());
    }
    names
}

/// The certificate's secrets.
#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) secrets: Vec<Value>,
    pub(super) renew_at: Option<Timestamp>,
}

pub(super) fn certificate(input: &Input<'_>) -> Result<Certificate, ReconcileError> {
    let stored = match &input.facts.ingress_certificate {
        IngressCertificate::Foreign { .. } => return Ok(Certificate { secrets: Vec::new(), renew_at: None }),
        IngressCertificate::Missing => None,
        IngressCertificate::Own(stored) => Some(stored),
    };
    let step = certificate::next(stored, &names(input), input.fresh.now, true)
        .map_err(|error| ReconcileError::new(reasons::CERTIFICATE_CONFIGURATION, error.to_string()))?;
    let mut secrets = Vec::new();
    if let Some(current) = step.store.as_ref().or(stored) {
        secrets.push(secret(input, SERVICE, current, true));
        if has_image_service(input.config) {
            secrets.push(secret(input, IMAGE_SERVICE, current, false));
        }
    }
    Ok(Certificate { secrets, renew_at: Some(step.look_at) })
}

/// The key of the authority stands in one of them alone.
fn secret(input: &Input<'_>, name: &str, stored: &Stored, with_authority: bool) -> Value {
    let mut secret = object(input, "v1", "Secret", &secret_name(name));
    secret["type"] = "kubernetes.io/tls".into();
    secret["data"] = json!({
        "ca.crt": STANDARD.encode(&stored.bundle),
        "tls.crt": STANDARD.encode(&stored.certificate),
        "tls.key": STANDARD.encode(stored.key.expose()),
    });
    if with_authority {
        secret["data"]["ca.key"] = STANDARD.encode(stored.authority_key.expose()).into();
    }
    secret
}

pub(super) fn api(input: &Input<'_>) -> Option<Value> {
    let ingress = input.config.spec.ingress.as_ref()?;
    Some(of(input, SERVICE, &ingress.assisted_service_hostname, 8090))
}

pub(super) fn images(input: &Input<'_>) -> Option<Value> {
    let ingress = input.config.spec.ingress.as_ref()?;
    Some(of(input, IMAGE_SERVICE, &ingress.image_service_hostname, 8080))
}

fn of(input: &Input<'_>, name: &str, host: &str, port: u16) -> Value {
    let class =
        input.config.spec.ingress.as_ref().map(|ingress| ingress.class_name.as_str()).unwrap_or_default();
    let backend = json!({"service": {"name": name, "port": {"number": port}}});
    let mut ingress = labelled(object(input, "networking.k8s.io/v1", "Ingress", name), "app", SERVICE);
    ingress["spec"] = json!({
        "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        "tls": [{"hosts": [host], "secretName": secret_name(name)}],
    });
    if !class.is_empty() {
        ingress["spec"]["ingressClassName"] = class.into();
    }
    for (name, value) in UNLIMITED {
        ingress = annotated(ingress, name, value);
    }
    ingress
}
