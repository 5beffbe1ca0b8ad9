//! The webhooks of the providers: conversion between the served versions of their kinds, and rules on their objects
//! (capi-providers §3.1, §5).
//!
//! Each provider answers for its own kinds, whether it leads or not. It makes its certificate, and tells the API server of it, in the
//! definitions of its kinds and in its configurations ([`trust`]). What is listened with is shared with the hub's webhooks:
//! [`assisted_kubeapi::webhook_server`].

mod conversion;
mod rules;
mod serve;
mod trust;

pub use rules::Rule;
pub use serve::{Options, WebhookError, serve};
pub use trust::configurations;
pub(crate) use trust::conversion;

/// Path of the conversion.
pub const CONVERT: &str = "/convert";

/// What a provider answers for.
#[derive(Clone, Copy, Debug)]
pub struct Webhooks {
    /// Name of the Secret with its certificate, and of its configurations.
    pub name: &'static str,
    /// Names of the definitions whose objects it converts.
    pub definitions: &'static [&'static str],
    pub rules: &'static [Rule],
}

/// Those of the bootstrap provider.
pub const BOOTSTRAP: Webhooks = Webhooks {
    name: "assisted-capi-bootstrap",
    definitions: &[
        "openshiftassistedconfigs.bootstrap.cluster.x-k8s.io",
        "openshiftassistedconfigtemplates.bootstrap.cluster.x-k8s.io",
    ],
    rules: rules::BOOTSTRAP,
};

/// Those of the control-plane provider.
pub const CONTROL_PLANE: Webhooks = Webhooks {
    name: "assisted-capi-control-plane",
    definitions: &["openshiftassistedcontrolplanes.controlplane.cluster.x-k8s.io"],
    rules: rules::CONTROL_PLANE,
};
