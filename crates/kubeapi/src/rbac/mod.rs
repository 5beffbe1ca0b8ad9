//! What each process may do at an API server.
//!
//! Rights are declared beside the code that uses them, as a [`Role`]; the manifests in `deploy/` are made of these declarations, and
//! tests run each process under them.

mod manifest;
mod role;
mod service;

pub use manifest::{further, manifest};
pub use role::{Access, Role, Scope, cluster, namespaced};
pub use service::ROLE as SERVICE;

use crate::{admission, operator};

/// Rights beside those of a role, each with the folder of `deploy/kustomize` that has them: what they are for has to be wanted, and
/// reaches further than a process does by itself.
pub const FURTHER: &[(&str, &Role)] =
    &[("hosted", &operator::access::HOSTED), ("local-cluster", &operator::access::LOCAL_CLUSTER)];

/// The roles of all processes.
pub const ROLES: &[&Role] = &[&SERVICE, &operator::access::ROLE, &admission::access::ROLE];
