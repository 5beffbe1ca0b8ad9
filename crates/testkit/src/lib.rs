//! Real servers for tests and benchmarks, started by them and gone with them.

mod aws;
pub mod block;
mod bucket;
mod built;
mod docker_registry;
mod error;
mod golden;
mod hole;
pub mod http2;
mod ignition;
pub mod install_config;
mod kafka;
pub mod kube;
pub mod layering;
mod listener;
mod live_image;
mod local_server;
mod memory;
mod name_server;
pub mod oci;
mod podman;
mod port;
mod postgres;
mod provider;
mod proxy;
mod receiver;
mod redfish;
mod s3;
mod server;
mod shared;
mod skip;
mod supervised;
pub mod terminal;
mod tied;
mod tls;

pub use assisted_lab_tools::{
    Balancer, Missing, cache, cluster_api, coreos_installer, cosign, installed, kubernetes, operator_verify,
    python, wait,
};
pub use aws::AwsServer;
pub use bucket::Bucket;
pub use built::{NotBuilt, built, built_for_hosts};
pub use docker_registry::{Access, Auth, DockerRegistry};
pub use error::Error;
pub use golden::{BLESS, golden};
pub use hole::{Hole, HoleFault};
pub use ignition::ignition_validate;
pub use kafka::Kafka;
pub use live_image::LiveImage;
pub use memory::memory_dir;
pub use name_server::NameServer;
pub use podman::PodmanHost;
pub use port::Port;
pub use postgres::{Durability, Postgres};
pub use provider::{IdentityProvider, TokenFault};
pub use proxy::{Fault, Proxy, Seen};
pub use receiver::{Answer, Received, Receiver};
pub use redfish::ManagementController;
pub use rustix::process::Signal;
pub use s3::S3Server;
pub use server::Server;
pub use skip::skip;
pub use tied::{tied, tied_program};
pub use tls::{Authority, signing_keys};
