//! Which features a request asks for, and whether they go together.

pub mod active;
pub mod compatibility;

pub use active::Configuration;
