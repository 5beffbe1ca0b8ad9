//! The API over real HTTP, before the real service on an SQLite database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests too")]

mod accounts;
mod agents;
mod attacks;
mod authorisation;
mod budget;
mod connection;
mod contract;
mod errors;
mod files;
mod hostile;
mod http2;
mod image_mode;
mod images;
mod installation;
mod installer;
mod life;
mod live;
mod metrics;
mod pages;
mod pem;
mod people;
mod provider;
mod query;
mod sequence;
mod server;
mod slow;
mod walk;
