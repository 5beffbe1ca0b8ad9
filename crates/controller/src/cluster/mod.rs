//! The cluster's own API.

mod connect;
mod kind;
mod operator;

pub(crate) use connect::{Proxies, connect, of_kubeconfig, proxies};
pub(crate) use kind::*;
pub(crate) use operator::{OperatorState, cluster_version, operator_state};
use serde_json::Value;

/// The text at a path in an object; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Whether the API said that there is no such thing, or no such kind of thing.
pub(crate) fn is_absent(error: &kube::Error) -> bool {
    status(error) == Some(404)
}

/// Status of a refusal.
pub(crate) fn status(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}
