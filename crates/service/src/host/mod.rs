//! Use cases of hosts: registering, polling, replying, changing, leaving; one file for each.

mod bind;
mod deregister;
mod enable;
mod install;
mod installer;
pub(crate) mod memo;
mod poll;
mod read;
mod register;
mod reply;
mod reset;
mod update;
mod validation;
pub(crate) mod view;

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;

pub use poll::Poll;

/// 404: there is no such host.
pub(crate) fn no_host(key: HostKey) -> Refusal {
    Refusal::not_found(format!("Host {} was not found in infra-env {}", key.host_id, key.infra_env_id))
}
