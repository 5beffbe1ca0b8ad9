//! Thin names over [`Client::call`](crate::Client::call), one file per kind of resource.

pub(crate) mod clusters;
pub(crate) mod events;
pub(crate) mod hosts;
pub(crate) mod infra_envs;
pub(crate) mod instructions;
pub(crate) mod machines;
pub(crate) mod manifests;
pub(crate) mod on_cluster_layering;
pub(crate) mod operators;
pub(crate) mod versions;
pub(crate) mod work;
