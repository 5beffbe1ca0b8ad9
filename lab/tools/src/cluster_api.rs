//! The core of Cluster API, which judges its providers: built once by `cargo xtask setup`, with the definitions of its kinds beside
//! it.

use std::path::PathBuf;

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
