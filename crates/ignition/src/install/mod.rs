//! Configs that the installer program made, edited before hosts get them (install-generation §6).
//!
//! They are newer than this program at times, so they are edited as trees: what is not known here stays as it is.

pub mod bare_metal_host;
pub mod bootstrap;
mod edit;
pub mod host;
pub mod joining;
pub mod manifest;
pub mod role;

pub use edit::{EditError, NewFile, Tree};
