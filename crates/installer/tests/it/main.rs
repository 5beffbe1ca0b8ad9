//! Installations of made-up machines: their files are a folder, their programs scripts that note what they are asked, the
//! service and the cluster speak HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests too

mod cluster;
mod disk;
mod faults;
mod flows;
mod killed;
mod layering;
mod machine;
mod service;
mod whole;

#[path = "../../../agent/tests/it/script.rs"]
mod script;
