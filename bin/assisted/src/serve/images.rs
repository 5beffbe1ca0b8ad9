//! The image service inside `assisted serve`: on a port of its own, in front of the API of this process.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_api::Api;
use assisted_config::{Origins, Settings};
use assisted_imageserver::server::{Listener, Timeouts, serve};
use assisted_imageserver::{ApiAddress, Images, Options};
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use url::Url;

use crate::image_options::{Fetch, MOST_REQUESTS, TURN, When, catalog};
use crate::listener::{address, near, tls};
use crate::signals::stopping;

/// Where other installations have their image service.
const PORT: u16 = 8888;

/// How long downloads under way may go on when the service is told to stop.
const DRAIN: Duration = Duration::from_secs(20);

/// How discovery images are served.
#[derive(Args, Debug)]
pub(super) struct ImageFlags {
    /// Address for discovery images; port 0 takes a free one [default: that of --listen with port 8888, or a free one
    /// where that is taken; none when IMAGE_SERVICE_BASE_URL names another image service]
    #[arg(long, env = "ASSISTED_IMAGE_LISTEN", value_name = "IP:PORT", value_parser = address)]
    image_listen: Option<SocketAddr>,
    /// When base images are fetched
    #[arg(long, env = "ASSISTED_IMAGE_FETCH", value_enum, default_value_t = When::Lazy)]
    image_fetch: When,
    #[command(flatten)]
    fetch: Fetch,
}

/// A listener for images.
pub(super) struct ImageListener {
    listener: Listener,
    options: Options,
}

impl ImageFlags {
    /// Where images are to be served; none when another service does it, or nobody.
    pub fn address(&self, settings: &Settings, api: SocketAddr) -> Option<SocketAddr> {
        let none = settings.versions.os_images.as_ref().is_some_and(|images| images.0.is_empty());
        if !settings.http.enable_image_service || none {
            return None;
        }
        let elsewhere = !settings.http.image_service_base_url.is_empty();
        // On a free port beside a free port.
        let port = if api.port() == 0 { 0 } else { PORT };
        self.image_listen.or_else(|| (!elsewhere).then(|| SocketAddr::new(api.ip(), port)))
    }

    /// Listens, and tells the settings where, unless they know under which address machines come here.
    pub async fn bind(
        &self,
        address: SocketAddr,
        settings: &mut Settings,
        data_dir: &Path,
    ) -> Result<ImageListener> {
        let catalog = catalog()?;
        let http = &mut settings.http;
        let tls = tls(http)?;
        let bound = match TcpListener::bind(address).await {
            // Another service on this machine has it: what nobody chose need not be kept, for URLs tell the port.
            Err(error) if error.kind() == ErrorKind::AddrInUse && self.image_listen.is_none() => {
                tracing::warn!(%address, "the usual port for images is taken; a free one is used");
                TcpListener::bind((address.ip(), 0)).await
            }
            bound => bound,
        };
        let tcp = bound.with_context(|| {
            format!("can't listen on {address} for images; choose another address with --image-listen")
        })?;
        if http.image_service_base_url.is_empty() {
            let scheme = if tls.is_some() { "https" } else { "http" };
            let host = host(&http.service_base_url, address.ip());
            http.image_service_base_url = format!("{scheme}://{host}:{}", tcp.local_addr()?.port());
        }
        let base_url = http.image_service_base_url.parse().context("IMAGE_SERVICE_BASE_URL is no URL")?;
        let options = Options {
            data_dir: data_dir.join("images"),
            catalog,
            fetch: self.fetch.options(self.image_fetch)?,
            base_url: Some(base_url),
            origins: Origins::new(http.allowed_domains.iter().map(String::as_str)),
            most_requests: MOST_REQUESTS,
            turn: TURN,
            tls_beside_http: false,
        };
        Ok(ImageListener { listener: Listener { tcp, tls }, options })
    }
}

impl ImageListener {
    /// Serves images until the service stops.
    pub async fn start(
        self,
        api: &Api,
        api_address: SocketAddr,
        stopped: &watch::Receiver<bool>,
        servers: &mut JoinSet<Result<()>>,
    ) -> Result<()> {
        let mut api_address = near(api_address);
        if self.listener.tls.is_some() {
            // The certificate names the outside: inside the machine the API is asked without it, with the same checks.
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            api_address = listener.local_addr()?;
            let (api, until) = (api.clone(), stopping(stopped));
            servers.spawn(async move { Ok(assisted_api::server::serve(listener, None, api, until).await?) });
        }
        let api = ApiAddress {
            scheme: "http".to_owned(),
            host: api_address.to_string(),
            ca_file: None,
            proxies: false,
        };
        let (images, mut background) = Images::start(&api, self.options)?;
        let address = self.listener.tcp.local_addr()?;
        tracing::info!(%address, https = self.listener.tls.is_some(), "serving images");
        let until = stopping(stopped);
        let serving = serve(vec![self.listener], images, Timeouts::default(), until, Some(DRAIN));
        servers.spawn(async move {
            tokio::select! {
                served = serving => Ok(served?),
                error = background.failed() => bail!("a task for images ended: {error}"),
            }
        });
        Ok(())
    }
}

/// Under which name machines come here: as to the API, else by the address.
fn host(service: &str, address: IpAddr) -> String {
    let known = Url::parse(service).ok().and_then(|url| url.host_str().map(str::to_owned));
    known.unwrap_or_else(|| match near(SocketAddr::new(address, 0)).ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_come_by_the_name_of_the_service() {
        let all: IpAddr = "0.0.0.0".parse().unwrap();
        assert_eq!(host("https://assisted.example.com:8090", all), "assisted.example.com");
        assert_eq!(host("http://[fd00::1]:8090", all), "[fd00::1]");
        assert_eq!(host("", all), "127.0.0.1");
        assert_eq!(host("", "192.0.2.1".parse().unwrap()), "192.0.2.1");
        assert_eq!(host("", "fd00::2".parse().unwrap()), "[fd00::2]");
    }
}
