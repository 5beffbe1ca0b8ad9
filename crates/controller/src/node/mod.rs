//! Nodes of the cluster: what matters of them, and what becomes of them.

mod config_server;
mod reboots;
mod status;
mod taint;

pub(crate) use assisted_kube::node::{Node, list};
pub(crate) use reboots::{Reboots, reboots};
pub(crate) use status::follow;
pub(crate) use taint::{is_needed as taint_is_to_go, remove as remove_taint};
