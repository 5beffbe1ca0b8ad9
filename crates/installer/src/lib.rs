//! The installer on a host: what stands between the service's request and a machine that boots from its disk
//! (installer-and-controller §A).
//!
//! So far it prepares the disk and writes the image; nothing here speaks with the service.

pub mod disk;
#[cfg(test)]
#[path = "../../agent/tests/it/script.rs"]
mod script;
