//! The core of Cluster API, which judges its providers: built once by `cargo xtask setup`, with the definitions of its kinds beside
//! it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::{Missing, installed_root};

/// Version that the cache holds; the module in `lab/cluster-api` is of the same.
pub const VERSION: &str = "1.11.3";

/// Where the module's manifests lie, in the module and in the cache: the definitions of its kinds, and the configurations of its
/// webhooks.
pub const DEFINITIONS: &str = "config/crd/bases";
pub const WEBHOOKS: &str = "config/webhook/manifests.yaml";

/// The programs of the module: the controllers, and what people install providers with.
pub const BUILT: &[(&str, &str)] =
    &[("cluster-api", "sigs.k8s.io/cluster-api"), ("clusterctl", "sigs.k8s.io/cluster-api/cmd/clusterctl")];

/// Where the webhooks are asked in the published manifests: what comes before a path.
const SERVICE: &str = "    service:\n      name: webhook-service\n      namespace: system\n      path: ";

/// The definitions of the core that tell which version of a kind fits its contract.
const OF_CONTRACT: &[&str] =
    &["clusters", "machines", "machinedeployments", "machinesets", "machinehealthchecks", "clusterclasses"];
/// These labels say so; the published manifests get them from a later step.
const CONTRACTS: &[&str] = &["cluster.x-k8s.io/v1beta1=v1beta1", "cluster.x-k8s.io/v1beta2=v1beta2"];

/// The webhooks as the published manifests have them, asked at an address. `authority` is in PEM form, as base64.
pub fn webhooks_at(published: &str, address: SocketAddr, authority: &str) -> String {
    published.replace(SERVICE, &format!("    caBundle: {authority}\n    url: https://{address}"))
}

/// The words for `kubectl` that give the kinds of the core their contracts.
pub fn label() -> Vec<String> {
    let kinds =
        OF_CONTRACT.iter().map(|plural| format!("customresourcedefinition/{plural}.cluster.x-k8s.io"));
    let labels = CONTRACTS.iter().map(|label| (*label).to_owned());
    std::iter::once("label".to_owned()).chain(kinds).chain(labels).collect()
}

/// The arguments of the controllers. `tls.crt` and `tls.key` of their webhooks are in `certificates`.
pub fn arguments(
    kubeconfig: &Path,
    certificates: &Path,
    webhook: SocketAddr,
    health: SocketAddr,
) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--webhook-port={}", webhook.port()),
        format!("--webhook-cert-dir={}", certificates.display()),
        "--diagnostics-address=0".to_owned(),
        "--insecure-diagnostics".to_owned(),
        format!("--health-addr={health}"),
        "--feature-gates=ClusterTopology=true".to_owned(),
    ]
}

/// The folder in the cache that holds what is built.
///
/// # Errors
/// When there is no cache.
pub fn root() -> Result<PathBuf, Missing> {
    installed_root("cluster-api", VERSION)
}

/// Something that is built, or a manifest of the module.
///
/// # Errors
/// When it has not been made yet.
pub fn find(name: &str) -> Result<PathBuf, Missing> {
    let found = root()?.join(name);
    if found.exists() { Ok(found) } else { Err(Missing::Program(found)) }
}

/// Whether everything is here.
pub fn is_built() -> bool {
    let programs = BUILT.iter().map(|(name, _)| *name);
    programs.chain([DEFINITIONS, WEBHOOKS]).all(|name| find(name).is_ok())
}
