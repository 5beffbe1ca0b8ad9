//! Whether base images are to be had, asked as they would be fetched.

use assisted_base::error::chain;
use url::Url;

use super::StoreError;
use super::fetch::{FetchOptions, Fetcher};

/// Asks servers whether they have images, with the trust, headers and query of the fetches.
#[derive(Debug)]
pub struct Probe(Fetcher);

impl Probe {
    /// Asks as these options say.
    ///
    /// # Errors
    ///
    /// Certificates or headers that can't be used.
    pub fn new(options: &FetchOptions) -> Result<Self, StoreError> {
        Fetcher::new(options).map(Self)
    }

    /// How long an image is, where its server says so.
    ///
    /// # Errors
    ///
    /// Why it can't be had, in words. The address is not in them.
    pub async fn length(&self, url: &Url) -> Result<Option<u64>, String> {
        self.0.probe(url).await.map_err(|error| chain(&error))
    }
}
