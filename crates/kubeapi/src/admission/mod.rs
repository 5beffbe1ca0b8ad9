//! Admission: what the API server asks before it stores an object (kube-api §5).
//!
//! A rule is a pure function over the object and what it was before; one file per kind. [`WEBHOOKS`] is the table of all: path,
//! resource, operations. [`server`] answers the API server, [`configuration`] tells it whom to ask, [`rotator`] keeps that, and the
//! certificate that it trusts. What other webhooks need, too, stands in [`crate::webhook_server`].

pub mod access;
mod agent;
mod agent_classification;
mod agent_cluster_install;
pub mod configuration;
mod discovery;
mod infra_env;
pub mod rotator;
pub mod server;
mod table;
mod webhook;

pub use crate::webhook_server::verdict::{Addition, Denial, Reason, Verdict};
pub use crate::webhook_server::{certificate, review, tls, verdict};
pub use table::{Entry, WEBHOOKS};
pub use webhook::{Change, Kind, Operation, Webhook};

/// API group of the paths.
pub const GROUP: &str = "admission.agentinstall.openshift.io";

/// Version of the paths.
pub const VERSION: &str = "v1";

/// Name of the service, of the secret with its certificate, and of what runs it.
pub const NAME: &str = "agentinstalladmission";
