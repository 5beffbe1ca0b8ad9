//! The ground floor, which all other crates use: running programs, HTTP clients, pages, retries, PEM, versions, errors with their causes.

pub mod boolean;
pub mod error;
pub mod failpoint;
pub mod hex;
pub mod html;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "server")]
pub mod idle;
pub mod ip;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod pem;
#[cfg(feature = "process")]
pub mod process;
pub mod rate;
#[cfg(feature = "retry")]
pub mod retry;
#[cfg(feature = "server")]
pub mod stall;
pub mod version;
