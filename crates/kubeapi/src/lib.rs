//! The Kubernetes API: what its objects ask of the service.
//!
//! [`cluster::ClusterSpec`] and [`infra_env::InfraEnvSpec`] read the objects that describe a cluster or an infra-env together with
//! those that they refer to ([`objects::Objects`]), and make of them the request that creates it, or the one that changes what
//! differs; [`host::HostSpec`] reads what a BareMetalHost says of a host that registered. None of these talks to anybody: the same
//! rules serve a folder of manifests (`assisted apply`) and the [`controllers`] of a hub.
//!
//! [`admission`] judges objects before an API server stores them, [`operator`] runs everything on a hub, and [`rbac`] says what each
//! process may do there.

pub mod admission;
pub mod classification;
pub mod cluster;
pub mod controllers;
mod difference;
mod given;
pub mod host;
pub mod infra_env;
mod mirror_registry;
pub mod objects;
pub mod operator;
pub mod rbac;
mod sync_error;
mod text;
pub mod webhook_server;

pub use mirror_registry::mirrors;
pub use sync_error::{Class, SyncError};
