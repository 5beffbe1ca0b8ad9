//! What is shipped, used as people use it: pushed into a real registry and run by a real podman, installed by a real dpkg, judged by
//! systemd, applied to a real API server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod deb;
mod documentation;
mod everything_debian;
mod everything_judged;
mod images;
mod lists;
mod make;
mod manifests;
mod release;
mod run;
mod units;
mod world;
