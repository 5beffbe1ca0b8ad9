//! OpenShift releases: which release and which OS image stand for a version, and what is offered.

pub mod architecture;
pub mod must_gather;
pub mod offered;
pub mod os_image;
pub mod release_image;

pub use offered::{VersionQuery, component_versions, openshift_versions, release_sources};
