//! `assisted service-operator`: runs on a hub what an AgentServiceConfig asks for.

use anyhow::{Context, Result};
use assisted_kubeapi::operator::environment::Environment;
use assisted_kubeapi::operator::watch;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::kubernetes::webhook::{SILENCE, namespace};
use crate::serve::log;
use crate::signals::StopSignals;

/// The name under which the program does nothing else.
pub const PROGRAM: &str = "assisted-service-operator";

/// Run on a hub what an AgentServiceConfig asks for: service, image service, database, webhooks
///
/// On OpenShift and on other Kubernetes. Images and the like are told by the environment (docs/hub-operator.md); credentials are those of
/// KUBECONFIG, or of the pod. Of several replicas one works.
#[derive(Args, Debug)]
pub struct ServiceOperator {
    /// Work only while this replica leads; it always does so
    #[arg(long, hide = true)]
    leader_elect: bool,
    /// error, warn, info, debug or trace
    #[arg(long, env = "LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: String,
    /// text or json
    #[arg(long, env = "LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    log_format: String,
}

impl ServiceOperator {
    /// Works until SIGTERM or SIGINT.
    pub fn run(self) -> Result<()> {
        log::start("LOG_LEVEL", &self.log_level, &self.log_format)?;
        let own = namespace(std::env::var("NAMESPACE").ok().as_deref())?;
        let environment = Environment::read(&|name| match name {
            "NAMESPACE" => Some(own.clone()),
            name => std::env::var(name).ok(),
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(work(environment))
    }
}

async fn work(environment: Environment) -> Result<()> {
    let client = assisted_kube::client::from_environment(SILENCE).await?;
    let stop = CancellationToken::new();
    StopSignals::new()?.cancel(stop.clone());
    let pod = environment.pod_name.clone();
    let identity = pod.unwrap_or_else(|| format!("{}-{}", hostname(), std::process::id()));
    watch::run(client, environment, &identity, stop).await.context("the operator ended")?;
    tracing::info!("stopped");
    Ok(())
}

pub(crate) fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
