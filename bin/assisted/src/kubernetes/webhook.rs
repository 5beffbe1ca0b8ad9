//! `assisted webhook`: judges objects for an API server before it stores them.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use assisted_kubeapi::admission::NAME;
use assisted_kubeapi::admission::configuration::Target;
use assisted_kubeapi::admission::rotator::{CertificateRotator, Configurations};
use assisted_kubeapi::admission::server::serve;
use assisted_kubeapi::admission::tls::{Certified, Files, Protocols, server_config};
use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use crate::listener::bind;
use crate::serve::log;
use crate::signals::StopSignals;

/// The name under which the program does nothing else.
pub const PROGRAM: &str = "assisted-service-admission";

/// The longest time without a word from the API server: longer than a watch is silent.
pub(crate) const SILENCE: Duration = Duration::from_secs(600);

/// Where a pod finds its namespace.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Judge objects of the Kubernetes API before they are stored
///
/// Where no certificate is given, it makes and rotates one, keeps it in a secret that all replicas share, and tells the API server by
/// webhook configurations. Credentials are those of KUBECONFIG, or of the pod.
#[derive(Args, Debug)]
pub struct Webhook {
    /// Address to listen on
    #[arg(long, value_name = "IP", default_value_t = IpAddr::from(Ipv6Addr::UNSPECIFIED))]
    bind_address: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    secure_port: u16,
    /// Certificate chain (PEM) that somebody else keeps; it is read anew when it changes
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Lowest version of TLS: VersionTLS12 or VersionTLS13 [default: VersionTLS12]
    #[arg(
        long,
        env = "TLS_MIN_VERSION",
        value_name = "VERSION",
        default_value = "",
        hide_default_value = true
    )]
    tls_min_version: String,
    /// Cipher suites of TLS 1.2 by their IANA names, with commas between them [default: all that are safe]
    #[arg(
        long,
        env = "TLS_CIPHER_SUITES",
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    tls_cipher_suites: String,
    /// Namespace of the service and of the secret [default: that of the pod]
    #[arg(long, env = "NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,
    /// Address at which the API server finds the webhooks, instead of the service agentinstalladmission
    #[arg(long, value_name = "URL")]
    webhook_url: Option<String>,
    /// What is kept of the webhook configurations, when no certificate is given
    #[arg(long, value_enum, default_value_t = Keep::All)]
    configurations: Keep,
    /// File of the audit log; the log tells each denial
    #[arg(long, hide = true, value_name = "FILE", default_value = "-", value_parser = ["-"])]
    audit_log_path: String,
    /// error, warn, info, debug or trace
    #[arg(long, env = "LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
    /// text or json
    #[arg(long, env = "LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    log_format: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// They are made, and kept as they should be
    All,
    /// Of those that somebody else makes, the authorities that the API server trusts
    Bundle,
}

impl Webhook {
    /// Answers until SIGTERM or SIGINT.
    pub fn run(self) -> Result<()> {
        log::start("LOG_LEVEL", &self.log_level, &self.log_format)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<()> {
        let protocols = Protocols {
            min_version: self.tls_min_version.clone(),
            cipher_suites: self.tls_cipher_suites.clone(),
        };
        let certified = Arc::new(Certified::default());
        let tls = server_config(Arc::clone(&certified), &protocols)?;
        let client = assisted_kube::client::from_environment(SILENCE).await?;
        let address = SocketAddr::new(self.bind_address, self.secure_port);
        let listener = bind(address).await.with_context(|| format!("can't listen on {address}"))?;

        let stop = CancellationToken::new();
        let certificate = match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(certificate), Some(key)) => {
                let files = Files { certificate: certificate.clone(), key: key.clone() };
                files.show(&certified)?;
                tokio::spawn(files.follow(Arc::clone(&certified), stop.clone()))
            }
            _ => {
                let namespace = namespace(self.namespace.as_deref())?;
                let target =
                    self.webhook_url.clone().map_or_else(|| Target::service(&namespace, NAME), Target::Url);
                let configurations = match self.configurations {
                    Keep::All => Configurations::Own,
                    Keep::Bundle => Configurations::Bundle,
                };
                let rotator = CertificateRotator::new(
                    client.clone(),
                    &namespace,
                    target,
                    configurations,
                    Arc::clone(&certified),
                );
                rotator.first_reconcile().await.map_err(|told| anyhow!("there is no certificate: {told}"))?;
                tokio::spawn(rotator.run(stop.clone()))
            }
        };
        let mut signals = StopSignals::new()?;
        // For whoever started it on a free port.
        let address = listener.local_addr()?;
        tracing::info!(%address, "serving webhooks");
        if let Err(error) = writeln!(std::io::stdout(), "listening on https://{address}") {
            tracing::debug!(%error, "nobody reads the output");
        }
        let serving = tokio::spawn(serve(listener, tls, Arc::new(client), stop.clone()));
        let mut ended = std::pin::pin!(async { tokio::join!(serving, certificate) });
        tokio::select! {
            () = signals.recv() => {}
            ended = &mut ended => bail!("the webhooks ended: {ended:?}"),
        }
        stop.cancel();
        let (served, kept) = ended.await;
        served??;
        kept?;
        tracing::info!("stopped");
        Ok(())
    }
}

/// The namespace that was given, or that of the pod.
pub(crate) fn namespace(given: Option<&str>) -> Result<String> {
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return Ok(given.to_owned());
    }
    let read = std::fs::read_to_string(NAMESPACE_FILE);
    let read = read.context("the namespace is not known; set NAMESPACE")?;
    Ok(read.trim().to_owned())
}
