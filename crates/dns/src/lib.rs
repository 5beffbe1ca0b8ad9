//! DNS records of clusters: where their API and their routes are found.
//!
//! Two kinds of servers keep them: Amazon's Route 53, asked over HTTPS with signed requests, and any server that takes dynamic
//! updates (RFC 2136), such as BIND, Knot or the DNS server of a Windows domain. Both are asked through one trait. Nothing here
//! retries: what fails says why, and its caller decides.

mod error;
mod provider;
mod record;
mod rfc2136;
mod route53;

pub use error::DnsError;
pub use provider::{Change, Provider};
pub use record::{Kind, Record, TTL};
pub use rfc2136::{Algorithm, DynamicUpdate, Key};
pub use route53::Route53;
