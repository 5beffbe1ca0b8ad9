//! Overrides of the install config.

use assisted_core::admission::install_config::{Additions, apply, for_installer, text};

use crate::{facts, input};

pub fn run(bytes: &[u8]) {
    let Some(overrides) = input::text(bytes) else { return };
    let Some(mut facts) = facts::facts() else { return };
    if let Ok(config) = text(&facts, overrides, &Additions::default()) {
        let read = serde_json::from_str::<serde_json::Value>(config.expose());
        assert!(read.is_ok_and(|config| config.is_object()), "an install config is an object");
        assert!(for_installer(&config).is_ok(), "the installer is given what was made");
    }
    if let Some(record) = &mut facts.cluster {
        apply(record, overrides);
    }
}
