//! Single fields: each file holds the rule of one kind of value, shared by clusters, infra-envs and hosts.
//!
//! A rule answers with the text that the client sees; who calls it decides on status and prefix.

pub mod certificate;
pub mod cluster_name;
pub mod disk_encryption;
pub mod dns;
pub mod ignition_config;
pub mod ignition_endpoint;
pub mod installer_args;
pub mod kernel_arguments;
pub mod node_label;
pub mod ntp;
pub mod proxy;
pub mod pull_secret;
pub mod ssh_key;
pub mod static_network;
pub mod tags;
mod web;

use crate::network::hostname::is_lower_alnum;

/// Why a value is refused, in the client's words.
pub type Invalidity = String;

/// Whether the text is a lower-case label: letters, digits and inner hyphens; not empty.
fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if is_lower_alnum(*first) && is_lower_alnum(*last))
        && bytes.iter().all(|byte| is_lower_alnum(*byte) || *byte == b'-')
}
