//! The domain: what is true, what is allowed, what comes next.
//!
//! Pure: no clock, no network, no disk, no SQL. Time comes in as an argument ([`model::facts::Facts::now`]); what to do comes
//! out as a value ([`model::decision::Decision`]).
//!
//! The modules are storeys: each uses only those below it, which `cargo xtask check-deps` holds. From the bottom up, which is
//! the reading order: [`policy`], [`model`], [`catalogue`], [`network`], [`disk`], [`layering`], [`validation`], [`state`],
//! [`admission`], [`decide`].

pub mod admission;
pub mod catalogue;
pub mod decide;
pub mod disk;
pub mod layering;
pub mod model;
pub mod network;
pub mod policy;
pub mod state;
pub mod validation;
