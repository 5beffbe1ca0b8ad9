//! What every Kubernetes client here shares: how it is connected, how it writes what differs and nothing else, finalizers, and
//! the lease by which one of several replicas leads.
//!
//! Watches, caches and events are those of [`kube::runtime`]; conditions are set by `assisted_crd::condition`.

pub mod client;
pub mod error;
pub mod finalizer;
pub mod lease;
pub mod write;
