//! Clusters: registration, import, update.

mod blank;
pub mod create;
#[cfg(test)]
mod create_tests;
mod image_mode;
pub mod import;
pub mod update;
mod update_network;
#[cfg(test)]
mod update_tests;
mod usage;

use assisted_wire::secret::Secret;

use crate::admission::field::pull_secret;
use crate::model::cluster::ClusterRecord;
use crate::model::event::NewEvent;
use crate::model::refusal::Refusal;
use crate::policy::Policy;

pub use create::create;
pub use import::{disconnected, import};
pub use update::{Updated, update};

/// A new cluster, and its events.
#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    pub record: ClusterRecord,
    pub events: Vec<NewEvent>,
}

fn refuse(problem: impl std::fmt::Display) -> Refusal {
    Refusal::invalid(problem)
}

/// The text of an optional member; absent and empty are the same.
fn text(member: Option<&String>) -> &str {
    member.map_or("", String::as_str)
}

/// Both members for time sources can't be used at a time.
fn check_ntp_exclusion(sources: &str, additional: &str) -> Result<(), Refusal> {
    if sources.is_empty() || additional.is_empty() {
        return Ok(());
    }
    Err(refuse("ntp_sources and additional_ntp_source are mutually exclusive"))
}

/// Keeps a pull secret with the cluster.
fn set_pull_secret(record: &mut ClusterRecord, secret: &Secret, policy: &Policy) -> Result<(), Refusal> {
    record.pull_secret = pull_secret::completed(secret, policy).map_err(refuse)?;
    record.cluster.pull_secret_set = !secret.is_empty();
    Ok(())
}
