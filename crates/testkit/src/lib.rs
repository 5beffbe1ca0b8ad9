//! Real servers for tests and benchmarks, started by them and gone with them.

mod cache;
mod docker_registry;
mod ignition;
pub mod kube;
pub mod oci;
mod postgres;
mod server;
mod supervised;
mod tied;

pub use cache::{COREOS_INSTALLER, Missing, cache, coreos_installer, installed, installed_root};
pub use docker_registry::{Access, Auth, DockerRegistry};
pub use ignition::ignition_validate;
pub use postgres::{Durability, Error, Postgres};
pub use rustix::process::Signal;
pub use server::Server;
pub use tied::tied;
