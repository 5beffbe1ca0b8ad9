//! Ways in for the fuzz targets (`fuzz/`) to what reads texts of users. Nothing else calls this.

use crate::generator::openshift::{manifests, patch};

/// Applies a patch to a manifest; the manifest as it is then, `None` where it can't be applied.
pub fn patch(manifest: &str, patch: &str) -> Option<String> {
    patch::apply(manifest, patch).ok()
}

/// The documents of a text.
pub fn documents(text: &str) -> Vec<String> {
    manifests::documents(text)
}

/// Whether a `registries.conf` names registries.
pub fn names_registries(text: &str) -> bool {
    crate::registries_conf::names_registries(text)
}
