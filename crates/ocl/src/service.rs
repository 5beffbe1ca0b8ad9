//! What hosts and the controller ask and tell the service about images (ocl-day1 §B10.1).

use std::path::PathBuf;
use std::time::Duration;

use assisted_base::http::{Proxies, Trust, TrustError, authorities_of_file, read};
use assisted_wire::id::ClusterId;
use assisted_wire::on_cluster_layering::{LayeringBuild, LayeringHost, LayeringReport, LayeringState, Pool};
use assisted_wire::secret::Secret;
use reqwest::{Client, RequestBuilder};

/// Longest answer that is read, in bytes.
const LONGEST: usize = 1 << 20;
const LIMIT: Duration = Duration::from_secs(60);
const TOKEN: &str = "X-Secret-Key";
const USER_AGENT: &str = concat!("assisted-ocl/", env!("CARGO_PKG_VERSION"));

/// Why the service isn't asked.
#[derive(Debug, thiserror::Error)]
pub enum LayeringError {
    #[error("the certificates for the service: {0}")]
    Trust(#[from] TrustError),
    #[error("the service can't be asked for the state of images: {}", assisted_base::error::chain(.0))]
    Http(#[from] reqwest::Error),
    #[error("the service answers with status {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("the service's answer can't be read: {0}")]
    Answer(String),
}

/// How the service is reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// The service's own address, without the path of its API.
    pub url: String,
    pub token: Secret,
    /// Whether any certificate of the service is accepted.
    pub insecure: bool,
    /// Certificates (PEM) trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    pub proxies: Proxies,
}

/// The images of one cluster, as the service knows them.
#[derive(Clone, Debug)]
pub struct Layering {
    client: Client,
    base: String,
    token: Secret,
}

impl Layering {
    /// # Errors
    /// When certificates or proxies can't be used.
    pub fn new(access: Access, cluster: ClusterId) -> Result<Self, LayeringError> {
        let trust = match (&access.ca_file, access.insecure) {
            (_, true) => Trust::Any,
            (Some(path), false) => Trust::Also(authorities_of_file(path)?),
            (None, false) => Trust::Also(Vec::new()),
        };
        let client =
            assisted_base::http::builder(USER_AGENT, trust, &access.proxies)?.timeout(LIMIT).build()?;
        let url = access.url.trim_end_matches('/');
        let base = format!("{url}/api/assisted-install/v2/clusters/{cluster}/on-cluster-layering");
        Ok(Self { client, base, token: access.token })
    }

    /// What is known; `None` where the cluster has no images of its own, or the service knows nothing of such things.
    ///
    /// # Errors
    /// When there is no answer, or none that can be read.
    pub async fn state(&self) -> Result<Option<LayeringState>, LayeringError> {
        match self.ask(self.client.get(&self.base)).await {
            Ok(body) => {
                let unreadable = |error: serde_json::Error| LayeringError::Answer(error.to_string());
                let answer: serde_json::Value = serde_json::from_slice(&body).map_err(unreadable)?;
                if answer["enabled"] != true {
                    return Ok(None);
                }
                serde_json::from_value(answer).map(Some).map_err(unreadable)
            }
            Err(LayeringError::Refused { status: 404 | 405 | 501, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reports a pool's build.
    ///
    /// # Errors
    /// When it isn't taken.
    pub async fn report(&self, build: LayeringBuild) -> Result<(), LayeringError> {
        self.put(build.pool, &LayeringReport { build: Some(build), hosts: Vec::new() }).await
    }

    /// Reports what a host does about its pool's image; the build stays as it is known.
    ///
    /// # Errors
    /// When it isn't taken.
    pub async fn report_host(&self, pool: Pool, host: LayeringHost) -> Result<(), LayeringError> {
        self.put(pool, &LayeringReport { build: None, hosts: vec![host] }).await
    }

    async fn put(&self, pool: Pool, report: &LayeringReport) -> Result<(), LayeringError> {
        let request = self.client.put(format!("{}/builds/{pool}", self.base));
        self.ask(request.json(report)).await.map(drop)
    }

    /// The user's MachineOSConfig of a pool, as text.
    ///
    /// # Errors
    /// When it isn't to be had.
    pub async fn machine_os_config(&self, pool: Pool) -> Result<String, LayeringError> {
        let body = self.ask(self.client.get(format!("{}/machine-os-configs/{pool}", self.base))).await?;
        String::from_utf8(body).map_err(|error| LayeringError::Answer(error.to_string()))
    }

    async fn ask(&self, request: RequestBuilder) -> Result<Vec<u8>, LayeringError> {
        let mut answer = request.header(TOKEN, self.token.expose()).send().await?;
        let status = answer.status();
        let body =
            read(&mut answer, LONGEST).await.map_err(|error| LayeringError::Answer(error.to_string()))?;
        if status.is_success() {
            return Ok(body);
        }
        let message = String::from_utf8_lossy(&body).chars().take(300).collect();
        Err(LayeringError::Refused { status: status.as_u16(), message })
    }
}
