//! The webhooks of a provider, which it serves beside its work.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use anyhow::{Context, Result};
use assisted_capi::webhook::{self, Options};
use assisted_kubeapi::webhook_server::target::Target;
use assisted_kubeapi::webhook_server::tls::Protocols;
use clap::Args;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::listener::bind;

/// How webhooks are served.
#[derive(Args, Debug)]
pub(super) struct Webhooks {
    /// Serve webhooks, which the API server asks by the Service of this name in the namespace
    #[arg(long, env = "WEBHOOK_SERVICE", value_name = "NAME", conflicts_with = "webhook_url")]
    webhook_service: Option<String>,
    /// Serve webhooks, which the API server asks at this address
    #[arg(long, env = "WEBHOOK_URL", value_name = "URL")]
    webhook_url: Option<String>,
    /// Address on which webhooks listen
    #[arg(long, value_name = "IP", default_value_t = IpAddr::from(Ipv6Addr::UNSPECIFIED))]
    webhook_bind_address: IpAddr,
    /// Port on which webhooks listen; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    webhook_port: u16,
    /// Lowest version of TLS: VersionTLS12 or VersionTLS13 [default: that of OpenShift's profile, else VersionTLS12]
    #[arg(long, env = "TLS_MIN_VERSION", value_name = "VERSION")]
    tls_min_version: Option<String>,
    /// Cipher suites of TLS 1.2 by their IANA names, with commas between them [default: those of OpenShift's profile, else all
    /// that are safe]
    #[arg(long, env = "TLS_CIPHER_SUITES", value_name = "LIST")]
    tls_cipher_suites: Option<String>,
}

impl Webhooks {
    /// Serves them until `stop`, if they are wanted; their end before that is to be told.
    pub(super) async fn start(
        &self,
        client: &kube::Client,
        webhooks: &'static webhook::Webhooks,
        namespace: &str,
        stop: &CancellationToken,
    ) -> Result<Option<JoinHandle<Result<()>>>> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let target = match (given(&self.webhook_service), given(&self.webhook_url)) {
            (Some(service), _) => Target::service(namespace, &service),
            (None, Some(url)) => Target::Url(url),
            (None, None) => {
                tracing::info!("no webhooks: neither WEBHOOK_SERVICE nor WEBHOOK_URL is set");
                return Ok(None);
            }
        };
        let (min_version, cipher_suites) = (given(&self.tls_min_version), given(&self.tls_cipher_suites));
        let protocols = (min_version.is_some() || cipher_suites.is_some()).then(|| Protocols {
            min_version: min_version.unwrap_or_default(),
            cipher_suites: cipher_suites.unwrap_or_default(),
        });
        let address = SocketAddr::new(self.webhook_bind_address, self.webhook_port);
        let listener = bind(address).await.with_context(|| format!("can't listen on {address}"))?;
        // For whoever started it on a free port.
        let address = listener.local_addr()?;
        tracing::info!(%address, "serving webhooks");
        if let Err(error) = writeln!(std::io::stdout(), "listening on https://{address}") {
            tracing::debug!(%error, "nobody reads the output");
        }
        let options = Options { webhooks, namespace: namespace.to_owned(), target, protocols };
        let serving = webhook::serve(client.clone(), listener, options, stop.clone());
        Ok(Some(tokio::spawn(async { serving.await.context("the webhooks ended") })))
    }
}

/// Works until the work ends, or webhooks that are served do.
pub(super) async fn beside<E>(
    webhooks: Option<JoinHandle<Result<()>>>,
    stop: &CancellationToken,
    work: impl Future<Output = Result<(), E>>,
) -> Result<()>
where
    E: std::error::Error + Send + Sync + 'static,
{
    const ENDED: &str = "the provider ended";
    let Some(mut webhooks) = webhooks else { return work.await.context(ENDED) };
    let mut work = std::pin::pin!(work);
    tokio::select! {
        worked = &mut work => {
            stop.cancel();
            let served = webhooks.await?;
            worked.context(ENDED)?;
            served
        }
        served = &mut webhooks => {
            // Told to stop, the provider still has its lease to give back.
            if stop.is_cancelled() {
                work.await.context(ENDED)?;
            }
            served?
        }
    }
}
