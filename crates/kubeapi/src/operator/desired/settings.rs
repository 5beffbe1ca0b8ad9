//! The config map with the service's variables (kube-api §6.9).

use std::collections::{BTreeMap, BTreeSet};

use assisted_crd::agent_install::agent_service_config::{MustGatherImage, OsImage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Input, annotation_of, has_image_service, ingress, object, pod};
use crate::operator::conditions::{ReconcileError, reasons};
use crate::operator::{IMAGE_SERVICE, SERVICE, SETTINGS, annotation};

/// Where the service finds certificates in its pod.
pub(super) const TLS_DIR: &str = "/etc/assisted-tls-config";
pub(super) const INGRESS_DIR: &str = "/etc/assisted-ingress-cert";

/// Registries that need no credentials wherever clusters are installed.
const PUBLIC_REGISTRIES: &[&str] = &["quay.io", "registry.ci.openshift.org"];

pub(super) fn config_map(input: &Input<'_>) -> Result<Value, ReconcileError> {
    let mut map = object(input, "v1", "ConfigMap", SETTINGS);
    map["data"] = json!(variables(input)?);
    Ok(map)
}

fn variables(input: &Input<'_>) -> Result<BTreeMap<&'static str, String>, ReconcileError> {
    let (environment, facts) = (input.environment, input.facts);
    let mut set = BTreeMap::from([
        ("ASSISTED_LISTEN", "[::]:8090".to_owned()),
        ("AUTH_TYPE", "local".to_owned()),
        ("CHECK_CLUSTER_VERSION", "True".to_owned()),
        ("ENABLE_AUTO_ASSIGN", "True".to_owned()),
        ("ENABLE_IMAGE_SERVICE", "False".to_owned()),
        ("ENABLE_KUBE_API", "True".to_owned()),
        ("ENABLE_SINGLE_NODE_DNSMASQ", "True".to_owned()),
        ("HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT", environment.control_plane_timeout.clone()),
        ("INSTALL_INVOKER", "assisted-installer-operator".to_owned()),
        ("IPV6_SUPPORT", "True".to_owned()),
        ("ISO_IMAGE_TYPE", "minimal-iso".to_owned()),
        ("LOG_FORMAT", "text".to_owned()),
        ("LOG_LEVEL", "info".to_owned()),
        ("NAMESPACE", environment.namespace.clone()),
        ("PUBLIC_CONTAINER_REGISTRIES", registries(input)?),
        ("SELF_VERSION", pod::service_image(input)),
        ("SERVICE_BASE_URL", format!("https://{}", host(input, SERVICE)?)),
        ("SKIP_CERT_VERIFICATION", "False".to_owned()),
        ("STORAGE", "filesystem".to_owned()),
        ("WORK_DIR", "/data".to_owned()),
    ]);
    let (kind, version) = match &facts.distribution {
        Some(distribution) => (distribution.name.clone(), distribution.version.clone()),
        None => ("Operator".to_owned(), pod::service_image(input)),
    };
    set.extend([("DEPLOYMENT_TYPE", kind), ("DEPLOYMENT_VERSION", version)]);
    if has_image_service(input.config) {
        set.insert("ENABLE_IMAGE_SERVICE", "True".to_owned());
        set.insert("IMAGE_SERVICE_BASE_URL", format!("https://{}", host(input, IMAGE_SERVICE)?));
        set.insert("OS_IMAGES", os_images(input));
    }
    set.insert("MUST_GATHER_IMAGES", must_gather_images(input));
    let own = [
        ("AGENT_DOCKER_IMAGE", &environment.agent_image),
        ("CONTROLLER_IMAGE", &environment.controller_image),
        ("INSTALLER_IMAGE", &environment.installer_image),
    ];
    set.extend(own.map(|(name, image)| (name, image.clone())));
    set.extend(pod::proxies(input));
    if facts.is_openshift {
        set.insert("SERVE_HTTPS", "True".to_owned());
        set.insert("HTTPS_CERT_FILE", format!("{TLS_DIR}/tls.crt"));
        set.insert("HTTPS_KEY_FILE", format!("{TLS_DIR}/tls.key"));
        set.insert("SERVICE_CA_CERT_PATH", format!("{INGRESS_DIR}/ca-bundle.crt"));
        set.insert("TLS_MIN_VERSION", facts.tls.min_version.clone());
    } else if ingress::has_authorities(input) {
        set.insert("SERVICE_CA_CERT_PATH", format!("{INGRESS_DIR}/ca.crt"));
    }
    if annotation_of(input.config, annotation::UNRESTRICTED_PULLS) == "true" {
        set.insert("FORCE_INSECURE_POLICY_JSON", "true".to_owned());
    }
    set.retain(|_, value| !value.is_empty());
    Ok(set)
}

/// Under which name hosts reach a service.
pub(super) fn host<'a>(input: &'a Input<'_>, name: &str) -> Result<&'a str, ReconcileError> {
    if input.facts.is_openshift {
        let host = input.facts.route_hosts.get(name).map(String::as_str);
        let waiting = || {
            ReconcileError::new(reasons::AGENT_ROUTE, format!("waiting for the route {name} to get its host"))
        };
        return host.filter(|host| !host.is_empty()).ok_or_else(waiting);
    }
    let ingress = input.config.spec.ingress.as_ref();
    let host = ingress.map(|ingress| {
        if name == SERVICE { &ingress.assisted_service_hostname } else { &ingress.image_service_hostname }
    });
    host.map(String::as_str).ok_or_else(|| {
        ReconcileError::new(
            reasons::KUBERNETES_INGRESS_CONFIG_MISSING,
            "ingress configuration is required for non-OpenShift deployment",
        )
    })
}

/// The discovery images that are offered, as JSON: those of the AgentServiceConfig, or those that the operator knows.
pub(super) fn os_images(input: &Input<'_>) -> String {
    let images = &input.config.spec.os_images;
    if images.is_empty() {
        return input.environment.os_images.clone();
    }
    let of = |image: &OsImage| {
        json!({
            "openshift_version": image.openshift_version,
            "cpu_architecture": if image.cpu_architecture.is_empty() { "x86_64" } else { &image.cpu_architecture },
            "url": image.url,
            "version": image.version,
        })
    };
    Value::from(images.iter().map(of).collect::<Vec<_>>()).to_string()
}

/// The must-gather images, as JSON: by version, or version and architecture, then by name.
fn must_gather_images(input: &Input<'_>) -> String {
    let images = &input.config.spec.must_gather_images;
    let known: Vec<MustGatherImage> =
        serde_json::from_str(&input.environment.must_gather_images).unwrap_or_default();
    let images = if images.is_empty() { &known } else { images };
    if images.is_empty() {
        return String::new();
    }
    let mut by_version: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for image in images {
        let architecture =
            image.cpu_architecture.map(|architecture| format!("-{architecture}")).unwrap_or_default();
        let key = format!("{}{architecture}", image.openshift_version);
        by_version.entry(key).or_default().insert(image.name.clone(), image.url.clone().into());
    }
    json!(by_version).to_string()
}

/// Registries that pull secrets need not name.
fn registries(input: &Input<'_>) -> Result<String, ReconcileError> {
    let mirrors = mirrored_locations(input)?;
    let all = PUBLIC_REGISTRIES
        .iter()
        .map(|registry| (*registry).to_owned())
        .chain(mirrors.unqualified)
        .chain(mirrors.sources.iter().map(|source| registry_of(source)))
        .chain(input.config.spec.unauthenticated_registries.iter().cloned());
    let mut seen = BTreeSet::new();
    let all: Vec<_> = all.filter(|registry| seen.insert(registry.clone())).collect();
    Ok(all.join(","))
}

/// What comes before the first slash.
fn registry_of(location: &str) -> String {
    location.split('/').next().unwrap_or_default().to_owned()
}

/// What a `registries.conf` says of registries.
#[derive(Debug, Default)]
pub(super) struct Mirrors {
    /// Registries that are searched for images without one.
    pub(super) unqualified: Vec<String>,
    /// What is mirrored.
    pub(super) sources: Vec<String>,
    /// Where the mirrors are.
    pub(super) mirrors: Vec<String>,
}

#[derive(Deserialize)]
struct Conf {
    #[serde(default, rename = "unqualified-search-registries")]
    unqualified: Vec<String>,
    #[serde(default)]
    registry: Vec<Registry>,
}

#[derive(Deserialize)]
struct Registry {
    #[serde(default)]
    location: String,
    #[serde(default)]
    mirror: Vec<Mirror>,
}

#[derive(Deserialize)]
struct Mirror {
    #[serde(default)]
    location: String,
}

/// Reads the mirror registry's config map; nothing is mirrored without one.
pub(super) fn mirrored_locations(input: &Input<'_>) -> Result<Mirrors, ReconcileError> {
    let (Some(data), Some(reference)) = (&input.facts.mirror, &input.config.spec.mirror_registry_ref) else {
        return Ok(Mirrors::default());
    };
    let name = &reference.name;
    let failure = |text: String| ReconcileError::new(reasons::CONFIG, text);
    let text = data
        .get("registries.conf")
        .ok_or_else(|| failure(format!("Mirror registry configmap {name} missing key registries.conf")))?;
    let conf: Conf = toml::from_str(text).map_err(|error| {
        failure(format!(
            "Mirror registry configmap {name}: registries.conf can't be read: {}",
            error.message()
        ))
    })?;
    let filled = |location: &String| !location.is_empty();
    let mirrors = conf.registry.iter().flat_map(|registry| &registry.mirror);
    Ok(Mirrors {
        unqualified: conf.unqualified,
        mirrors: mirrors.map(|mirror| mirror.location.clone()).filter(filled).collect(),
        sources: conf.registry.into_iter().map(|registry| registry.location).filter(filled).collect(),
    })
}
