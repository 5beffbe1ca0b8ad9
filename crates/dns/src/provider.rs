//! One trait for DNS servers: their zone, and the records in it, made and deleted.

use std::fmt;

use futures::future::BoxFuture;

use crate::{DnsError, Record};

/// A keeper of the records of one zone. Each call is bounded in time, and harmless when it is made twice.
pub trait Provider: Send + Sync + fmt::Debug {
    /// The name of the zone, without a dot at its end, once the keeper has confirmed that it is there.
    fn zone(&self) -> BoxFuture<'_, Result<String, DnsError>>;

    /// Those of these names that lead somewhere already: that have an address, or are aliases.
    fn taken<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Result<Vec<String>, DnsError>>;

    /// Makes records: all of them, or none.
    fn put<'a>(&'a self, changes: &'a [Change]) -> BoxFuture<'a, Result<(), DnsError>>;

    /// Deletes those of these records that are there just so; what a name has become since is left alone.
    fn delete<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Result<(), DnsError>>;
}

/// A record that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub record: Record,
    /// Whether it takes the place of the address that its name has; else the name must have none.
    pub replaces: bool,
}
