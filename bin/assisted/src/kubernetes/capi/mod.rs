//! `assisted capi`: the providers for Cluster API.

mod webhooks;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use assisted_capi::installer::hub::{self, Authority, Hub, Internal, Source};
use assisted_capi::installer::rest::{self, Rest};
use assisted_capi::{bootstrap, control_plane, webhook};
use assisted_kube::lease::Settings;
use clap::{Args, Subcommand};
use tokio_util::sync::CancellationToken;

use self::webhooks::{Webhooks, beside};
use crate::kubernetes::service_operator::hostname;
use crate::kubernetes::webhook::{SILENCE, namespace};
use crate::serve::log;
use crate::signals::StopSignals;

/// Where the authority of the service is looked for unless somebody says otherwise; it may be missing there.
const AUTHORITY: (&str, &str) = ("assisted-installer", "assisted-installer-ca");

/// How often a service is asked what has changed.
const PAUSE: Duration = Duration::from_secs(5);

/// Provide machines with OpenShift for Cluster API
#[derive(Args, Debug)]
pub struct Capi {
    #[command(subcommand)]
    provider: Provider,
}

#[derive(Debug, Subcommand)]
enum Provider {
    Bootstrap(Box<Bootstrap>),
    #[command(name = "controlplane")]
    ControlPlane(Box<ControlPlane>),
}

/// What all providers are told.
#[derive(Args, Debug)]
struct Common {
    /// Work only while this replica leads; it always does so
    #[arg(long, hide = true)]
    leader_elect: bool,
    /// Namespace of the lease by which one replica leads [default: that of the pod]
    #[arg(long, env = "NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,
    /// error, warn, info, debug or trace
    #[arg(long, env = "LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
    /// text or json
    #[arg(long, env = "LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    log_format: String,
    #[command(flatten)]
    webhooks: Webhooks,
    #[command(flatten)]
    service: ServiceAlone,
}

/// A service that is worked with instead of a hub.
#[derive(Args, Debug)]
struct ServiceAlone {
    /// Work with the service at this address alone, by its REST API, instead of the objects of a hub
    #[arg(long, env = "ASSISTED_URL", value_name = "URL")]
    assisted_url: Option<String>,
    /// File with the token of an account of that service, read anew when it changes
    #[arg(long, env = "ASSISTED_TOKEN_FILE", value_name = "FILE")]
    assisted_token_file: Option<PathBuf>,
    /// File with certificates (PEM) that are trusted for it besides those of the system
    #[arg(long, env = "ASSISTED_CA_FILE", value_name = "FILE")]
    assisted_ca_file: Option<PathBuf>,
}

impl ServiceAlone {
    /// The service; none: a hub.
    async fn connect(&self, client: &kube::Client) -> Result<Option<Rest>> {
        // An empty text is what an empty variable of a manifest becomes.
        let file = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        let (token_file, ca_file) = (file(&self.assisted_token_file), file(&self.assisted_ca_file));
        let Some(url) = self.assisted_url.clone().filter(|url| !url.is_empty()) else {
            // The authorities are those of other commands, too.
            if token_file.is_some() {
                bail!("--assisted-token-file is for a service alone: give --assisted-url, too");
            }
            return Ok(None);
        };
        let options = rest::Options { url, token_file, ca_file, pause: PAUSE };
        let rest = Rest::new(client.clone(), options);
        // What is wrong with address and files is told at once.
        rest.check().await.map_err(anyhow::Error::msg)?;
        Ok(Some(rest))
    }
}

/// Describe clusters to the installer, and keep the machines of their control planes: OpenshiftAssistedControlPlanes
///
/// Works with the objects of a hub that serves ClusterDeployments, AgentClusterInstalls and ClusterImageSets, or with a service alone
/// (`--assisted-url`). Credentials are those of
/// KUBECONFIG, or of the pod. Of several replicas one works.
#[derive(Args, Debug)]
struct ControlPlane {
    #[command(flatten)]
    common: Common,
}

/// Tell machines what they boot with, and approve their hosts: OpenshiftAssistedConfigs
///
/// Works with the objects of a hub that serves ClusterDeployments, AgentClusterInstalls, InfraEnvs and Agents, or with a service alone
/// (`--assisted-url`). Credentials are those of
/// KUBECONFIG, or of the pod. Of several replicas one works.
#[derive(Args, Debug)]
struct Bootstrap {
    #[command(flatten)]
    common: Common,
    /// Reach the service through its Service in the cluster: true or false
    #[arg(long, env = "USE_INTERNAL_IMAGE_URL", value_name = "BOOLEAN", default_value = "false", value_parser = clap::builder::BoolishValueParser::new())]
    use_internal_url: bool,
    /// Name of that Service
    #[arg(long, env = "ASSISTED_SERVICE_NAME", value_name = "NAME", default_value = "assisted-service")]
    service_name: String,
    /// Its namespace [default: that of the InfraEnv]
    #[arg(long, env = "ASSISTED_INSTALLER_NAMESPACE", value_name = "NAME")]
    service_namespace: Option<String>,
    /// http or https
    #[arg(long, env = "ASSISTED_SERVICE_SCHEME", value_name = "SCHEME", default_value = "http", value_parser = ["http", "https"])]
    service_scheme: String,
    /// Its port
    #[arg(long, env = "ASSISTED_SERVICE_PORT", value_name = "PORT", default_value_t = 8090)]
    service_port: u16,
    /// Kind of the object with an authority that is trusted beside the system's: secret or configmap
    #[arg(long, env = "ASSISTED_CA_BUNDLE_RESOURCE", value_name = "KIND", default_value = "secret")]
    ca_bundle_resource: String,
    /// Its namespace; empty together with the name: no such object [default: assisted-installer]
    #[arg(long, env = "ASSISTED_CA_BUNDLE_NAMESPACE", value_name = "NAME")]
    ca_bundle_namespace: Option<String>,
    /// Its name [default: assisted-installer-ca, which may be missing]
    #[arg(long, env = "ASSISTED_CA_BUNDLE_NAME", value_name = "NAME")]
    ca_bundle_name: Option<String>,
    /// Its member with certificates in PEM form
    #[arg(long, env = "ASSISTED_CA_BUNDLE_KEY", value_name = "KEY", default_value = "ca.crt")]
    ca_bundle_key: String,
}

impl Capi {
    /// Works until SIGTERM or SIGINT.
    pub fn run(self) -> Result<()> {
        let common = match &self.provider {
            Provider::Bootstrap(bootstrap) => &bootstrap.common,
            Provider::ControlPlane(control_plane) => &control_plane.common,
        };
        log::start("LOG_LEVEL", &common.log_level, &common.log_format)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            match self.provider {
                Provider::Bootstrap(bootstrap) => bootstrap.work().await,
                Provider::ControlPlane(control_plane) => control_plane.work().await,
            }
        })
    }
}

impl Common {
    /// How this replica keeps the lease of the one that leads.
    fn lease(&self) -> Result<Settings> {
        Ok(Settings {
            namespace: namespace(self.namespace.as_deref())?,
            identity: format!("{}-{}", hostname(), std::process::id()),
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        })
    }
}

/// What stops a provider: SIGTERM or SIGINT.
fn stop() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    StopSignals::new()?.cancel(stop.clone());
    Ok(stop)
}

impl ControlPlane {
    async fn work(self) -> Result<()> {
        let lease = self.common.lease()?;
        let client = assisted_kube::client::from_environment(SILENCE).await?;
        let (stop, namespace) = (stop()?, lease.namespace.clone());
        let webhooks = &self.common.webhooks;
        let webhooks = webhooks.start(&client, &webhook::CONTROL_PLANE, &namespace, &stop).await?;
        let installer = match self.common.service.connect(&client).await? {
            Some(service) => control_plane::Installer::service(service),
            None => control_plane::Installer::hub(client.clone()),
        };
        let work = Box::pin(control_plane::run(client, installer, lease, stop.clone()));
        beside(webhooks, &stop, work).await?;
        tracing::info!("stopped");
        Ok(())
    }
}

impl Bootstrap {
    async fn work(self) -> Result<()> {
        let lease = self.common.lease()?;
        let internal = self.use_internal_url.then(|| Internal {
            scheme: self.service_scheme.clone(),
            service: self.service_name.clone(),
            namespace: self.service_namespace.clone().filter(|name| !name.is_empty()),
            port: self.service_port,
        });
        let options = hub::Options { internal, authority: self.authority()? };
        let client = assisted_kube::client::from_environment(SILENCE).await?;
        let (stop, namespace) = (stop()?, lease.namespace.clone());
        let webhooks = &self.common.webhooks;
        let webhooks = webhooks.start(&client, &webhook::BOOTSTRAP, &namespace, &stop).await?;
        match self.common.service.connect(&client).await? {
            Some(service) => {
                let work = Box::pin(bootstrap::run(client, service, lease, stop.clone()));
                beside(webhooks, &stop, work).await?;
            }
            None => {
                let hub = Hub::new(client.clone(), options);
                let work = Box::pin(bootstrap::run(client, hub, lease, stop.clone()));
                beside(webhooks, &stop, work).await?;
            }
        }
        tracing::info!("stopped");
        Ok(())
    }

    /// The authority that is trusted beside the system's.
    fn authority(&self) -> Result<Option<Authority>> {
        let source = match self.ca_bundle_resource.as_str() {
            "secret" => Source::Secret,
            "configmap" => Source::ConfigMap,
            _ => bail!("ASSISTED_CA_BUNDLE_RESOURCE must be either configmap or secret"),
        };
        let (namespace, name) = (self.ca_bundle_namespace.as_deref(), self.ca_bundle_name.as_deref());
        let required = namespace.is_some() || name.is_some();
        let namespace = namespace.unwrap_or(AUTHORITY.0).to_owned();
        let name = name.unwrap_or(AUTHORITY.1).to_owned();
        match (namespace.is_empty(), name.is_empty()) {
            (true, true) => Ok(None),
            (false, false) => {
                Ok(Some(Authority { source, namespace, name, key: self.ca_bundle_key.clone(), required }))
            }
            _ => bail!(
                "ASSISTED_CA_BUNDLE_NAME and ASSISTED_CA_BUNDLE_NAMESPACE must either both be set or unset"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        bootstrap: Bootstrap,
    }

    fn authority(args: &[&str]) -> Result<Option<Authority>> {
        Program::parse_from(["bootstrap"].iter().chain(args)).bootstrap.authority()
    }

    #[test]
    fn an_authority_has_a_namespace_and_a_name_or_neither() {
        let usual = authority(&[]).unwrap().unwrap();
        assert_eq!((usual.name.as_str(), usual.required), ("assisted-installer-ca", false));
        assert_eq!(authority(&["--ca-bundle-namespace=", "--ca-bundle-name="]).unwrap(), None);
        let one = authority(&["--ca-bundle-name="]).unwrap_err().to_string();
        assert!(one.ends_with("must either both be set or unset"), "{one}");
        let other = authority(&["--ca-bundle-resource=Secret"]).unwrap_err().to_string();
        assert_eq!(other, "ASSISTED_CA_BUNDLE_RESOURCE must be either configmap or secret");
        let given = authority(&["--ca-bundle-resource=configmap", "--ca-bundle-name=mine"]).unwrap().unwrap();
        assert_eq!((given.source, given.required), (Source::ConfigMap, true));
    }
}
