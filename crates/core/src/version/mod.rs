//! OpenShift versions: what a version means, which release and which OS image stand for it, and what is offered.

pub mod architecture;
pub mod number;
pub mod offered;
pub mod os_image;
pub mod release_image;

pub use number::{Base, Version};
pub use offered::{VersionQuery, component_versions, openshift_versions, release_sources};
