//! Which releases can be installed: those that are configured, and those that the update service knows of
//! (install-generation §10.3).
//!
//! What was learned is kept in a file, so that a start without the network offers what the last one did.

pub(crate) mod graph;
pub(crate) mod life_cycle;
mod merge;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use assisted_base::http::Addresses;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::version::{ReleaseChannel, ReleaseImage, ReleaseImages, ReleaseSource};
use url::Url;

use crate::error::RegistryError;
use crate::registry::{Retry, Transport, fetch};

use graph::Graph;
use life_cycle::LifeCycle;
use merge::Found;

/// Longest answer that is read, in bytes.
const LONGEST: u64 = 32 << 20;

const PRODUCT: &str = "Red Hat OpenShift Container Platform";

/// Why the releases of the update service are not known.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("{url}: {error}")]
    Fetch { url: String, error: RegistryError },
    #[error("{url} answers what can't be read: {cause}")]
    Answer { url: String, cause: String },
    #[error("{url} has no end of support for OpenShift {base}, so what it offers is not taken over")]
    NoSupportLevel { url: String, base: String },
    #[error("the settings can't be used: {0}")]
    Settings(String),
    #[error("the list of releases at {path} can't be kept: {source}")]
    Disk { path: PathBuf, source: io::Error },
}

/// Where releases are learned of.
#[derive(Clone, Debug)]
pub struct Origins {
    /// The update service, which has `api/upgrades_info/v1/graph` below it.
    pub updates: Url,
    /// The life cycles of products.
    pub life_cycles: Url,
}

/// Releases to choose from.
#[derive(Debug)]
pub struct Catalogue {
    client: reqwest::Client,
    retry: Retry,
    origins: Origins,
    sources: Vec<ReleaseSource>,
    configured: Vec<ReleaseImage>,
    file: PathBuf,
}

impl Catalogue {
    /// A catalogue that keeps what it learns in `file`. Configured releases stand before those that are learned.
    ///
    /// # Errors
    ///
    /// [`CatalogueError::Settings`] when certificates or proxies can't be used.
    pub fn new(
        transport: &Transport,
        retry: Retry,
        origins: Origins,
        sources: Vec<ReleaseSource>,
        configured: Vec<ReleaseImage>,
        file: &Path,
    ) -> Result<Self, CatalogueError> {
        let addresses = Addresses::new(&transport.proxies);
        for host in [&origins.updates, &origins.life_cycles].into_iter().filter_map(Url::host_str) {
            addresses.allow(host);
        }
        let client = transport.client(false, &addresses);
        let client = client.map_err(|error| CatalogueError::Settings(error.to_string()))?;
        Ok(Self { client, retry, origins, sources, configured, file: file.to_owned() })
    }

    /// What is known without asking anybody: what was learned the last time, else what is configured.
    pub fn known(&self) -> ReleaseImages {
        let learned = read(&self.file).unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %self.file.display(), %error, "the kept list of releases can't be read");
            }
            Vec::new()
        });
        ReleaseImages(merge::merge(&self.configured, learned))
    }

    /// Asks for all releases and keeps the answer. Nothing is taken over unless all of it could be learned.
    ///
    /// # Errors
    ///
    /// See [`CatalogueError`]; what was known before is still known.
    pub async fn refresh(&self) -> Result<ReleaseImages, CatalogueError> {
        if self.sources.is_empty() {
            return Ok(self.known());
        }
        let life_cycle = self.life_cycle().await?;
        let mut found = Found::default();
        for source in &self.sources {
            for upgrades in &source.upgrade_channels {
                for channel in &upgrades.channels {
                    let graph =
                        self.graph(*channel, &source.openshift_version, upgrades.cpu_architecture).await?;
                    found.add(source, upgrades.cpu_architecture, *channel, graph.versions());
                }
            }
        }
        let no_level =
            |base| CatalogueError::NoSupportLevel { url: self.origins.life_cycles.to_string(), base };
        let learned = found.images(&life_cycle).map_err(no_level)?;
        tracing::info!(releases = learned.len(), "learned which releases there are");
        keep(&self.file, &learned)
            .map_err(|source| CatalogueError::Disk { path: self.file.clone(), source })?;
        Ok(ReleaseImages(merge::merge(&self.configured, learned)))
    }

    async fn graph(
        &self,
        channel: ReleaseChannel,
        base: &str,
        architecture: CpuArchitecture,
    ) -> Result<Graph, CatalogueError> {
        let mut url = below(&self.origins.updates, "api/upgrades_info/v1/graph")?;
        url.query_pairs_mut()
            .append_pair("channel", &format!("{}-{base}", channel.as_str()))
            .append_pair("arch", crate::image::go_name(architecture));
        self.ask(url).await
    }

    async fn life_cycle(&self) -> Result<LifeCycle, CatalogueError> {
        let mut url = self.origins.life_cycles.clone();
        url.query_pairs_mut().append_pair("name", PRODUCT);
        self.ask(url).await
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, url: Url) -> Result<T, CatalogueError> {
        let mut tries = self.retry.tries();
        let text = loop {
            let error = match fetch(&self.client, &url, "the answer", LONGEST).await {
                Ok(text) => break text,
                Err(RegistryError::NoImage) => RegistryError::Status(404),
                Err(error) => error,
            };
            let failed = |error| CatalogueError::Fetch { url: url.to_string(), error };
            tries.again(error).await.map_err(failed)?;
        };
        serde_json::from_slice(&text)
            .map_err(|error| CatalogueError::Answer { url: url.into(), cause: error.to_string() })
    }
}

fn below(base: &Url, path: &str) -> Result<Url, CatalogueError> {
    let mut url = base.clone();
    let failed = || CatalogueError::Settings(format!("{base} can't have anything below it"));
    url.path_segments_mut().map_err(|()| failed())?.pop_if_empty().extend(path.split('/'));
    Ok(url)
}

fn read(file: &Path) -> io::Result<Vec<ReleaseImage>> {
    let mut text = Vec::new();
    std::fs::File::open(file)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Writes the list whole, or leaves the old one.
fn keep(file: &Path, images: &[ReleaseImage]) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("."));
    let scratch = file.with_extension("new");
    std::fs::write(&scratch, serde_json::to_vec_pretty(images)?)?;
    std::fs::File::open(&scratch)?.sync_all()?;
    std::fs::rename(&scratch, file)?;
    std::fs::File::open(dir)?.sync_all()
}
