//! How a database is used.

use std::num::NonZeroUsize;
use std::time::Duration;

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
