//! Releases of OpenShift, read straight from image registries and their mirrors: which images they are made of, and the
//! installer program in one of them. Neither a container runtime nor another program is needed.

pub mod availability;
pub mod bundles;
pub mod cache;
pub mod catalogue;
pub mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod image;
pub mod installer;
pub mod mirror;
pub mod payload;
pub mod pull_secret;
pub mod reference;
pub mod registry;

pub use assisted_base::http::Proxies;
pub use availability::{AvailabilityChecker, Depth};
pub use bundles::{Bundle, Wanted};
pub use cache::{Bounds, Cache, CacheError, Key, Lease};
pub use catalogue::{Catalogue, CatalogueError, Origins};
pub use error::{PullError, RegistryError};
pub use installer::{Extracted, Program, extract};
pub use mirror::Mirrors;
pub use payload::{Release, component};
pub use pull_secret::PullSecret;
pub use reference::{Digest, Reference};
pub use registry::{Registries, Retry, Session, Transport};
