//! The domain: what is true, what is allowed, what comes next.
//!
//! Pure: no clock, no network, no disk, no SQL. Time comes in as an argument ([`facts::Facts::now`]); what to do comes
//! out as a value ([`refresh::Refresh`]).

pub mod action;
pub mod cluster;
pub mod disk;
pub mod event;
pub mod facts;
pub mod feature;
pub mod hardware;
pub mod host;
pub mod infra_env;
pub mod install;
pub mod machine;
pub mod network;
mod operator;
pub mod platform;
pub mod refresh;
pub mod refusal;
pub mod rules;
pub mod settings;
pub mod validation;
pub mod version;
