//! Ignition configs: overrides of users laid over ours, what the installer made, what nodes are given.

use assisted_core::admission::field::ignition_config;
use assisted_ignition::install::Tree;
use assisted_ignition_spec::{Config, Excerpt, overlay, validate};

use crate::input;

pub fn run(bytes: &[u8]) {
    if let Ok(excerpt) = Excerpt::read(bytes) {
        for file in &excerpt.storage.files {
            let _ = file.contents.data();
        }
    }
    if let Ok(mut tree) = Tree::read(bytes) {
        let _ = tree.overlay(r#"{"ignition":{"version":"3.2.0"}}"#);
        let _ = tree.content("/etc/hostname");
        assert!(Tree::read(&tree.write()).is_ok(), "what is written is read again");
    }
    let Some(text) = input::text(bytes) else { return };
    let _ = ignition_config::check(text);
    let mut base = Config::new("3.1.0");
    base.add_unit("agent.service", "[Unit]\n");
    if let Ok(merged) = overlay(&base, text) {
        assert!(validate::validate(&merged).is_ok(), "a host refuses nothing of what was merged");
        let written = merged.to_json().unwrap_or_default();
        let read: Option<Config> = serde_json::from_slice(&written).ok();
        assert!(read == Some(merged), "what is written is read again");
    }
}
