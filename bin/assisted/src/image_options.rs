//! How images are served and their base images fetched, by a service of their own or inside another.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use assisted_core::policy::Versions;
use assisted_imageserver::{Catalog, FetchOptions};
use clap::{Args, ValueEnum};

/// How long a request waits for its turn when too many images are served.
pub(crate) const TURN: Duration = Duration::from_secs(20);

/// Images served at a time unless told otherwise.
pub(crate) const MOST_REQUESTS: usize = 400;

/// How base images are fetched.
#[derive(Args, Debug)]
pub struct Fetch {
    /// Base images fetched at a time
    #[arg(long, env = "ASSISTED_IMAGE_FETCHES", default_value_t = 3, value_name = "COUNT")]
    fetches: usize,
    /// Certificates (PEM) trusted besides the system's when base images are fetched
    #[arg(long, env = "OS_IMAGE_DOWNLOAD_TRUSTED_CA_FILE", value_name = "FILE")]
    os_image_ca_file: Option<String>,
    /// Accept any certificate when base images are fetched, unless some are named
    #[arg(long, env = "INSECURE_SKIP_VERIFY")]
    insecure_skip_verify: bool,
    /// Headers sent when base images are fetched: a JSON object of texts
    #[arg(long, env = "OS_IMAGES_REQUEST_HEADERS", value_name = "JSON", hide_env_values = true)]
    os_images_request_headers: Option<String>,
    /// Query parameters added when base images are fetched: a JSON object of texts
    #[arg(long, env = "OS_IMAGES_REQUEST_QUERY_PARAMS", value_name = "JSON", hide_env_values = true)]
    os_images_request_query_params: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// All at the start
    Start,
    /// Each when it is asked for
    Lazy,
}

impl Fetch {
    /// What the flags come to.
    pub fn options(&self, when: When) -> Result<FetchOptions> {
        let texts = |name: &str, json: &Option<String>| -> Result<Vec<(String, String)>> {
            let Some(json) = set(json.as_ref()) else { return Ok(Vec::new()) };
            // Its values may be secrets: an error must not show them.
            let texts: Result<std::collections::BTreeMap<String, String>, _> = serde_json::from_str(json);
            Ok(texts
                .ok()
                .with_context(|| format!("{name} is no JSON object of texts"))?
                .into_iter()
                .collect())
        };
        Ok(FetchOptions {
            eager: when == When::Start,
            parallel: self.fetches,
            ca_file: set(self.os_image_ca_file.as_ref()).map(PathBuf::from),
            insecure: self.insecure_skip_verify,
            headers: texts("OS_IMAGES_REQUEST_HEADERS", &self.os_images_request_headers)?,
            query: texts("OS_IMAGES_REQUEST_QUERY_PARAMS", &self.os_images_request_query_params)?,
            ..FetchOptions::default()
        })
    }
}

/// The list of OS_IMAGES, else the one that is built in. Written by an administrator, it may say more than the API service
/// needs: types and digests.
pub(crate) fn catalog() -> Result<Catalog> {
    let written = std::env::var("OS_IMAGES").ok().filter(|list| !list.is_empty());
    let list = match written {
        Some(list) => list,
        None => serde_json::to_string(&Versions::default().os_images)?,
    };
    Catalog::parse(&list).context("OS_IMAGES can't be used")
}

/// An empty value says nothing.
pub(crate) fn set(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|value| !value.is_empty())
}
