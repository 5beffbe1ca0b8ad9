//! The core of Cluster API, which judges its providers: built once by `cargo xtask setup`, with the definitions of its kinds beside
//! it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::{Missing, installed_root};

/// A version of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Version that the cache holds; the Go module is of the same.
    pub version: &'static str,
    /// Folder of the Go module.
    pub module: &'static str,
    /// The package of the controllers.
    controllers: &'static str,
    /// Folder of the manifests, in the sources.
    pub manifests: &'static str,
}

/// The oldest core that the providers work with: what it serves, later ones serve.
pub const OLDEST: Core = Core {
    version: "1.11.3",
    module: "lab/cluster-api",
    controllers: "sigs.k8s.io/cluster-api",
    manifests: "config",
};

/// The newest one, for tests that take long.
pub const NEWEST: Core = Core {
    version: "1.14.2",
    module: "lab/cluster-api-newest",
    controllers: "sigs.k8s.io/cluster-api/core",
    manifests: "core/config",
};

/// Where manifests lie in the cache: the definitions of the core's kinds, and the configurations of its webhooks.
pub const DEFINITIONS: &str = "config/crd/bases";
pub const WEBHOOKS: &str = "config/webhook/manifests.yaml";

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

impl Core {
    /// The programs of the module, and their packages: the controllers, and what people install providers with.
    pub const fn programs(&self) -> [(&'static str, &'static str); 2] {
        [("cluster-api", self.controllers), ("clusterctl", "sigs.k8s.io/cluster-api/cmd/clusterctl")]
    }

    /// The folder in the cache that holds what is built.
    ///
    /// # Errors
    /// When there is no cache.
    pub fn root(&self) -> Result<PathBuf, Missing> {
        installed_root("cluster-api", self.version)
    }

    /// Something that is built, or a manifest of the module.
    ///
    /// # Errors
    /// When it has not been made yet.
    pub fn find(&self, name: &str) -> Result<PathBuf, Missing> {
        let found = self.root()?.join(name);
        if found.exists() { Ok(found) } else { Err(Missing::Program(found)) }
    }

    /// Whether everything is here.
    pub fn is_built(&self) -> bool {
        let programs = self.programs().map(|(name, _)| name);
        programs.into_iter().chain([DEFINITIONS, WEBHOOKS]).all(|name| self.find(name).is_ok())
    }
}
