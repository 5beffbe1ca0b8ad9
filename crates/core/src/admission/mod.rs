//! Request rules: what a create or an update may ask for, what is filled in, and what comes out.
//!
//! Each rule set runs in a fixed order and stops at the first refusal; texts are part of the interface, because user
//! interfaces show them and tools match them (service-api §4–§6).

pub mod cluster;
pub mod credentials;
pub mod default_config;
pub mod feature;
pub mod field;
pub mod infra_env;
pub mod install_config;
pub mod manifest;
pub mod network;
pub mod precondition;
pub mod topology;

use jiff::Timestamp;

/// Who a new object belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub user_name: String,
    /// Empty without an organisation.
    pub org_id: String,
    /// `Unknown` without one.
    pub email_domain: String,
}

/// What a new object gets from outside: neither clock nor randomness live here.
#[derive(Clone, Debug)]
pub struct NewObject<Id> {
    pub id: Id,
    pub now: Timestamp,
    pub owner: Owner,
}
