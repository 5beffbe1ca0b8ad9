//! Patches of manifests, written by users.

use assisted_service::fuzz::patch;

use crate::input;

const MANIFEST: &str =
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: '1'\n  list:\n  - name: x\n    value: 1\n  - name: y\n";

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    let (manifest, change) = text.split_once("\n---\n").unwrap_or((MANIFEST, text));
    if let Some(patched) = patch(manifest, change) {
        assert!(patched.len() <= 16 << 20, "a manifest stays one that a cluster takes");
    }
}
