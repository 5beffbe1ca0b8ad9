//! What all other crates need and none of them owns.

pub mod boolean;
pub mod error;
pub mod failpoint;
pub mod hex;
#[cfg(feature = "http")]
pub mod http;
pub mod ip;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod pem;
#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "retry")]
pub mod retry;
pub mod version;
