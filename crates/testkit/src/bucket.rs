//! Buckets of servers that speak as S3 does.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;

/// Who is let in.
pub(crate) const ACCESS_KEY: &str = "me";
pub(crate) const SECRET_KEY: &str = "hush";

/// Where a bucket is to be, and what opens it.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// The address of its server.
    pub endpoint: String,
    pub name: String,
    pub access_key: &'static str,
    pub secret_key: &'static str,
}

/// A server that tests of one process share; started on first use.
pub(crate) type SharedServer = OnceLock<Result<String, String>>;

impl Bucket {
    /// A bucket of a shared server that no other test uses.
    pub(crate) fn on(server: &SharedServer, start: fn() -> Result<String, Error>) -> Result<Self, Error> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let url = server.get_or_init(|| start().map_err(|error| error.to_string()));
        Ok(Self {
            endpoint: url.clone().map_err(Error::Shared)?,
            name: format!("bucket-{}", MADE.fetch_add(1, Ordering::Relaxed)),
            access_key: ACCESS_KEY,
            secret_key: SECRET_KEY,
        })
    }
}
