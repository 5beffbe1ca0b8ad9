//! `assisted image-service`: discovery images, apart from the service; the same images are part of `assisted serve`.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use assisted_config::Origins;
use assisted_imageserver::server::{Listener, Timeouts, serve};
use assisted_imageserver::{ApiAddress, Catalog, Images, Options};
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use url::Url;

use crate::image_options::{Fetch, MOST_REQUESTS, TURN, When, catalog, set};
use crate::listener::{bind, port, raise_file_limit};
use crate::serve::log;
use crate::signals::StopSignals;

/// Serve discovery images apart from the service
///
/// For this project's API service or any other that speaks REST v2. Flags win over environment variables, which are those
/// of other image services.
#[derive(Args, Debug)]
pub struct ImageService {
    /// Host of the API service, with its port unless it is that of the scheme
    #[arg(long, env = "ASSISTED_SERVICE_HOST", value_name = "HOST[:PORT]")]
    service_host: Option<String>,
    /// How the API service is spoken to: http or https
    #[arg(long, env = "ASSISTED_SERVICE_SCHEME", default_value = "http", value_name = "SCHEME")]
    service_scheme: String,
    /// Certificates (PEM) that are trusted instead of the system's when the API service is asked
    #[arg(long, env = "ASSISTED_SERVICE_API_TRUSTED_CA_FILE", value_name = "FILE")]
    service_ca_file: Option<String>,
    /// The same, by its old name
    #[arg(long, env = "HTTPS_CA_FILE", value_name = "FILE", hide = true)]
    https_ca_file: Option<String>,
    /// Folder of base images
    #[arg(long, env = "DATA_DIR", default_value = "/data", value_name = "DIR")]
    data_dir: PathBuf,
    /// OS images: a JSON list, each with openshift_version, cpu_architecture, url and version; also type and sha256
    #[arg(long, env = "OS_IMAGES", value_name = "JSON", hide_env_values = true)]
    os_images: Option<String>,
    /// The same, by its old name
    #[arg(long, env = "RHCOS_VERSIONS", value_name = "JSON", hide = true)]
    rhcos_versions: Option<String>,
    /// Address to listen on [default: all]
    #[arg(long, env = "ASSISTED_IMAGE_ADDRESS", value_name = "IP")]
    listen_address: Option<IpAddr>,
    /// Port to listen on: HTTPS where there is a certificate, else HTTP
    #[arg(long, env = "LISTEN_PORT", default_value = "8080", value_name = "PORT")]
    listen_port: String,
    /// Port for plain HTTP: beside HTTPS for what iPXE loads, without a certificate instead of the other
    #[arg(long, env = "HTTP_LISTEN_PORT", value_name = "PORT")]
    http_listen_port: Option<String>,
    /// Private key (PEM)
    #[arg(long, env = "HTTPS_KEY_FILE", value_name = "FILE")]
    https_key_file: Option<String>,
    /// Certificate chain (PEM)
    #[arg(long, env = "HTTPS_CERT_FILE", value_name = "FILE")]
    https_cert_file: Option<String>,
    /// Lowest version of TLS: VersionTLS12 or VersionTLS13 [default: VersionTLS12]
    #[arg(long, env = "TLS_MIN_VERSION", value_name = "VERSION")]
    tls_min_version: Option<String>,
    /// Address under which machines reach this service; without one there are no minimal images
    #[arg(long, env = "IMAGE_SERVICE_BASE_URL", value_name = "URL")]
    base_url: Option<String>,
    /// Images served at a time, three quarters of them to one address at the most; further requests wait for 20 s, then get 503
    #[arg(long, env = "MAX_CONCURRENT_REQUESTS", default_value = "400", value_name = "COUNT")]
    max_concurrent_requests: String,
    /// Origins of web pages that may read images, with commas between them
    #[arg(long, env = "ALLOWED_DOMAINS", default_value = "", value_name = "LIST")]
    allowed_domains: String,
    #[command(flatten)]
    fetch: Fetch,
    /// When base images are fetched
    #[arg(long, env = "ASSISTED_IMAGE_FETCH", value_enum, default_value_t = When::Start)]
    fetch_when: When,
    /// error, warn, info, debug or trace
    #[arg(long, env = "LOGLEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
    /// text or json [default: text on a terminal, else json]
    #[arg(long, env = "LOG_FORMAT", value_name = "FORMAT")]
    log_format: Option<String>,
}

impl ImageService {
    /// Serves images until SIGTERM or SIGINT; downloads under way are finished, unless it is told again.
    pub fn run(self) -> Result<()> {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let format = set(self.log_format.as_ref()).unwrap_or(if terminal { "text" } else { "json" });
        log::start("LOGLEVEL", &self.log_level, format)?;
        raise_file_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<()> {
        let certificate = match (set(self.https_cert_file.as_ref()), set(self.https_key_file.as_ref())) {
            (Some(certificate), Some(key)) => {
                let least = self.tls_min_version.as_deref().unwrap_or_default();
                Some(assisted_api::server::tls(Path::new(certificate), Path::new(key), least)?)
            }
            _ => None,
        };
        let main = port("LISTEN_PORT", &self.listen_port, 8080)?;
        let plain =
            set(self.http_listen_port.as_ref()).map(|text| port("HTTP_LISTEN_PORT", text, 0)).transpose()?;
        let wanted = match (certificate, plain) {
            (None, None) => vec![(main, None)],
            (None, Some(plain)) => vec![(plain, None)],
            (Some(tls), None) => vec![(main, Some(tls))],
            (Some(tls), Some(plain)) => vec![(main, Some(tls)), (plain, None)],
        };
        let (images, mut background) = Images::start(&self.api()?, self.options(wanted.len() > 1)?)?;
        let mut signals = StopSignals::new()?;
        let mut listeners = Vec::new();
        for (port, tls) in wanted {
            let tcp = self.bind(port).await?;
            let scheme = if tls.is_some() { "https" } else { "http" };
            let address = tcp.local_addr()?;
            tracing::info!(%address, scheme, "serving images");
            // For whoever started it on a free port.
            if let Err(error) = writeln!(std::io::stdout(), "listening on {scheme}://{address}") {
                tracing::debug!(%error, "nobody reads the output");
            }
            listeners.push(Listener { tcp, tls });
        }
        let stopping = Arc::new(Notify::new());
        let stop = Arc::clone(&stopping);
        let serving =
            serve(listeners, images, Timeouts::default(), async move { stop.notified().await }, None);
        let insisted = async {
            signals.recv().await;
            stopping.notify_one();
            signals.recv().await;
        };
        tokio::select! {
            served = serving => served?,
            () = insisted => tracing::warn!("downloads are cut"),
            error = background.failed() => bail!("a background task ended: {error}"),
        }
        tracing::info!("stopped");
        Ok(())
    }

    fn api(&self) -> Result<ApiAddress> {
        let host = set(self.service_host.as_ref()).context("ASSISTED_SERVICE_HOST is not set")?;
        let ca = set(self.service_ca_file.as_ref()).or_else(|| set(self.https_ca_file.as_ref()));
        Ok(ApiAddress {
            scheme: set(Some(&self.service_scheme)).unwrap_or("http").to_owned(),
            host: host.to_owned(),
            ca_file: ca.map(PathBuf::from),
            proxies: true,
        })
    }

    fn options(&self, tls_beside_http: bool) -> Result<Options> {
        let list = set(self.os_images.as_ref()).or_else(|| set(self.rhcos_versions.as_ref()));
        let catalog = match list {
            Some(list) => Catalog::parse(list).context("OS_IMAGES can't be used")?,
            None => catalog()?,
        };
        let base_url = set(self.base_url.as_ref()).map(Url::parse).transpose();
        let count = set(Some(&self.max_concurrent_requests)).map(str::parse).transpose();
        Ok(Options {
            data_dir: self.data_dir.clone(),
            catalog,
            fetch: self.fetch.options(self.fetch_when)?,
            base_url: base_url.context("IMAGE_SERVICE_BASE_URL is no URL")?,
            origins: Origins::new(self.allowed_domains.split(',')),
            most_requests: count
                .context("MAX_CONCURRENT_REQUESTS is no whole number")?
                .unwrap_or(MOST_REQUESTS),
            turn: TURN,
            tls_beside_http,
        })
    }

    async fn bind(&self, port: u16) -> Result<TcpListener> {
        let address = self.listen_address.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
        let bound = bind(SocketAddr::new(address, port)).await;
        bound.with_context(|| format!("can't listen on port {port}; choose another with --listen-port"))
    }
}
