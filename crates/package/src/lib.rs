//! What is shipped, made of the programs that are built: images without a base, packages, manifests, releases. `cargo xtask images`
//! and `cargo xtask release` build the programs, and have this make the rest. The same programs give the same bytes.

pub mod bundle;
pub mod deb;
pub mod digest;
pub mod files;
pub mod image;
pub mod kustomize;
pub mod machine;
pub mod manifest;
pub mod notes;
mod npm;
pub mod publish;
pub mod release;
pub mod sbom;
pub mod signature;
pub mod tarball;

/// Version of all that is shipped.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
