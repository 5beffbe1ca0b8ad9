//! What can go wrong with records.

use std::path::PathBuf;

use assisted_base::http::BodyError;

/// Why records can't be read or changed. No text holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum DnsError {
    /// The file with credentials can't be used.
    #[error("credentials in {}: {problem}", .path.display())]
    Credentials { path: PathBuf, problem: String },
    /// The server does not answer.
    #[error("{server} can't be reached")]
    Unreachable {
        server: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server takes too long.
    #[error("{server} does not answer within {seconds} s")]
    Timeout { server: String, seconds: u64 },
    /// The answer can't be read to its end.
    #[error("the answer of {server} can't be read")]
    Body {
        server: String,
        #[source]
        source: BodyError,
    },
    /// The answer is not what was asked for.
    #[error("{server} answers what can't be understood: {problem}")]
    Answer { server: String, problem: String },
    /// The server refuses.
    #[error("{server} refuses: {said}")]
    Refused { server: String, said: String },
    /// The server does not have the zone.
    #[error("{server} has no zone {zone}")]
    NoZone { server: String, zone: String },
    /// A name that was free is not any more.
    #[error("a record is there that is not this cluster's: {said}")]
    Taken { said: String },
    /// A name that can't stand in the DNS.
    #[error("{name:?} can't be a name in the DNS: {problem}")]
    Name { name: String, problem: String },
}
