//! Real servers for tests and benchmarks, started by them and gone with them.

mod aws;
mod built;
mod docker_registry;
mod golden;
mod hole;
mod ignition;
pub mod install_config;
pub mod kube;
pub mod oci;
mod port;
mod postgres;
mod provider;
mod proxy;
mod redfish;
mod server;
mod skip;
mod supervised;
mod tied;
mod tls;

pub use assisted_lab_tools::{Missing, cache, coreos_installer, installed, kubernetes, python};
pub use aws::AwsServer;
pub use built::{NotBuilt, built, built_for_hosts};
pub use docker_registry::{Access, Auth, DockerRegistry};
pub use golden::{BLESS, golden};
pub use hole::Hole;
pub use ignition::ignition_validate;
pub use port::Port;
pub use postgres::{Durability, Error, Postgres};
pub use provider::{IdentityProvider, TokenFault};
pub use proxy::{Fault, Proxy, Seen};
pub use redfish::ManagementController;
pub use rustix::process::Signal;
pub use server::Server;
pub use skip::skip;
pub use tied::tied;
pub use tls::{Authority, signing_keys};
