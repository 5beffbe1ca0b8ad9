//! What the installer on a host takes out of Ignition configs, and what a single node makes of two.

use assisted_installer::disk::Progress;
use assisted_installer::ignition::{file, find, merge};
use futures::FutureExt;
use serde_json::Value;

use crate::input;

const BASE: &[u8] = br#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/a"}]}}"#;

pub fn run(bytes: &[u8]) {
    let _ = file(bytes, "/etc/ignition-machine-config-encapsulated.json");
    let _ = merge(BASE, bytes);
    let _ = merge(bytes, BASE);
    if brings_all(bytes) {
        // Nothing is fetched, so that there is nothing to wait for.
        let _ = find(bytes).now_or_never();
    }
    let mut progress = Progress::default();
    for piece in input::parts(bytes) {
        let _ = progress.read(piece);
    }
}

/// Whether all that a config refers to stands in it.
fn brings_all(config: &[u8]) -> bool {
    let Ok(config) = serde_json::from_slice::<Value>(config) else { return false };
    let merged = config.pointer("/ignition/config/merge").and_then(Value::as_array);
    let mut sources = merged.into_iter().flatten().filter_map(|resource| resource["source"].as_str());
    sources.all(|source| source.is_empty() || source.starts_with("data:"))
}
