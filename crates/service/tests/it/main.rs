//! Use cases on SQLite and on a real PostgreSQL.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

// In builds that know failpoints.
#[cfg(debug_assertions)]
mod action_steps;
mod at_once;
mod binding;
mod caches;
mod catalogue;
mod clocks;
mod disabled;
mod dns;
mod events;
mod files;
mod generation;
mod image_mode;
mod install_config;
mod installation;
mod interrupted;
mod lab;
mod life;
mod lists;
mod live;
mod logs;
mod manifests;
mod metrics;
mod openshift;
mod polling;
mod refusals;
mod replicas;
mod replies;
mod retention;
mod shapes;
mod silence;
mod simulation;
mod stages;
mod stream;
mod subscription;
mod upload;
mod work;
