//! Discovery configs against Ignition's own judge, and their scripts on folders.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod discovery;
mod ironic;
mod overrides;
mod scripts;

/// What Ignition itself says of a config.
fn validate(config: &[u8]) -> Result<(), String> {
    let told = assisted_testkit::ignition_validate(config).unwrap();
    if told.is_empty() { Ok(()) } else { Err(told) }
}
