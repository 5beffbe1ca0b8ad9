//! What decisions are made from, and what they are made of: records, reports, facts; outcomes, events, actions, refusals.

pub mod action;
pub mod cluster;
pub mod connectivity_report;
pub mod copy_on_write;
pub mod deadline;
pub mod decision;
pub mod disk;
pub mod embedded;
pub mod event;
pub mod facts;
pub mod host;
pub mod infra_env;
pub mod layering;
pub mod measurement;
pub mod object_key;
pub mod outcome;
pub mod refusal;
pub mod refusal_with_events;
pub mod report;
pub mod subscription;
pub mod topology;
