//! Options of a connection to a database.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// TLS to PostgreSQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// As PostgreSQL's own clients call it: disable, prefer, require or verify-full; empty: verify-full with authorities, prefer
    /// without.
    pub mode: String,
    /// File with the authorities that the server proves its name by, PEM.
    pub authorities: Option<PathBuf>,
}

/// What an operator may choose besides the address.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections of one replica to PostgreSQL, those that listen and that write check-ins apart.
    pub connections: NonZeroUsize,
    /// Connections to PostgreSQL that stay open without use.
    pub idle: usize,
    /// Longest life of a connection to PostgreSQL; zero: no limit.
    pub lifetime: Duration,
    /// From when a statement is logged as slow; `None`: none is.
    pub slow: Option<Duration>,
    /// Longest time that a statement in PostgreSQL may take, and that an answer of it is waited for.
    pub statement_limit: Duration,
    /// TLS to PostgreSQL; what an address says about it wins.
    pub tls: Tls,
    /// Name of the replica, for PostgreSQL's list of connections; empty: it has none.
    pub replica: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: NonZeroUsize::MIN.saturating_add(7),
            idle: usize::MAX,
            lifetime: Duration::ZERO,
            slow: None,
            statement_limit: Duration::from_secs(10),
            tls: Tls::default(),
            replica: String::new(),
        }
    }
}

impl Options {
    /// What connections to PostgreSQL are called; what is longer than a name there is cut.
    pub(crate) fn application_name(&self) -> String {
        if self.replica.is_empty() { "assisted".to_owned() } else { format!("assisted {}", self.replica) }
    }
}
