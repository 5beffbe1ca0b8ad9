//! What every Kubernetes client here shares: how it is connected, how it writes what differs and nothing else, finalizers, the
//! lease by which one of several replicas leads, and which hosts nodes are and what certificates they may have.
//!
//! Watches ([`watch`]) with their copies ([`cache`]) and events build on [`kube::runtime`]; conditions are set by `assisted_crd::condition`.

pub mod cache;
pub mod client;
pub mod csr;
pub mod error;
pub mod finalizer;
pub mod host;
pub mod lease;
pub mod node;
mod raw;
pub mod time;
pub mod watch;
pub mod write;
