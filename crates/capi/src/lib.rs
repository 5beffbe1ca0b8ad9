//! The providers for Cluster API.
//!
//! Cluster API knows clusters and machines; an installer ([`installer`]) knows how OpenShift comes onto machines without a
//! bootstrap node. [`bootstrap`] gives each machine what it boots with, and its host the role and the settings that the machine's
//! objects ask for. [`control_plane`] describes the cluster to the installer and keeps the machines of its control plane. [`node`] is
//! what a host and a node are told by Ignition, pure. [`webhook`] converts the objects of both, and judges them.

pub mod bootstrap;
pub mod components;
pub mod control_plane;
pub mod installer;
pub mod node;
mod objects;
mod pull_secret;
pub mod rbac;
mod run;
pub mod webhook;

pub use run::RunError;
