//! What the controller asks and tells the service.

use std::path::Path;

use assisted_client::{Client, Error, RetryPolicy};
use assisted_wire::cluster::{Cluster, FinalizingStage, LogsState};
use assisted_wire::cluster_params::{
    ClusterFinalizingProgress, CompletionParams, IngressCertParams, LogsProgressParams,
};
use assisted_wire::event::Event;
use assisted_wire::host::{Host, HostProgress, HostStage, HostStatus};
use assisted_wire::id::ClusterId;
use assisted_wire::operation::OperationId;
use assisted_wire::operator::{MonitoredOperator, MonitoredOperatorsList, OperatorMonitorReport};
use assisted_wire::time::DateTime;
use jiff::Timestamp;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;

use crate::cluster::Proxies;
use crate::config::Config;
use assisted_kube::host::KnownHost;

/// How often a request is repeated (installer-and-controller §A4).
const RETRIES: u32 = 15;
/// Longest file that is read, in bytes.
const LONGEST: usize = 32 << 20;

/// Why a file could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(transparent)]
    Service(#[from] Error),
    #[error("it can't be kept")]
    Keep(#[from] std::io::Error),
}

/// The service, and the cluster as it knows it.
pub(crate) struct Service {
    client: Client,
    cluster: ClusterId,
    kubeconfig: OnceCell<NamedTempFile>,
}

impl Service {
    pub(crate) fn new(config: &Config, proxies: &Proxies) -> Result<Self, assisted_client::BuildError> {
        let builder = Client::builder(&config.service_url)
            .user_agent(crate::USER_AGENT)
            .insecure(config.skip_cert_verification)
            .agent_token(config.token.clone())
            .proxies(&proxies.http, &proxies.https, &proxies.except)
            .retry(RetryPolicy { retries: RETRIES, ..RetryPolicy::default() });
        let builder = match &config.ca_file {
            Some(path) => builder.ca_file(path),
            None => builder,
        };
        Ok(Self { client: builder.build()?, cluster: config.cluster_id, kubeconfig: OnceCell::new() })
    }

    pub(crate) fn now(&self) -> DateTime {
        DateTime(Timestamp::now())
    }

    /// The cluster without its hosts.
    pub(crate) async fn cluster(&self) -> Result<Cluster, Error> {
        self.client.get_cluster_alone(self.cluster).await
    }

    /// The cluster's hosts, but for those in some states.
    pub(crate) async fn hosts(&self, without: &[HostStatus]) -> Result<Vec<KnownHost>, Error> {
        let hosts = self.client.get_cluster(self.cluster).await?.hosts.unwrap_or_default();
        let wanted = hosts.into_iter().filter(|host| !without.contains(&host.status));
        Ok(wanted.map(KnownHost::of).collect())
    }

    pub(crate) async fn progress(&self, host: &Host, stage: HostStage) -> Result<(), Error> {
        let progress = HostProgress { current_stage: Some(stage), ..HostProgress::default() };
        self.client
            .update_host_install_progress(host.infra_env_id.unwrap_or_default(), host.id, &progress)
            .await
    }

    pub(crate) async fn stage(&self, stage: FinalizingStage) -> Result<(), Error> {
        let body = ClusterFinalizingProgress { finalizing_stage: Some(stage) };
        let call = self.client.call(OperationId::UpdateClusterFinalizingProgress);
        call.path("cluster_id", self.cluster).json(&body).send_empty().await
    }

    pub(crate) async fn operators(&self) -> Result<Vec<MonitoredOperator>, Error> {
        let call = self.client.call(OperationId::ListOfClusterOperators).path("cluster_id", self.cluster);
        call.send().await.map(|MonitoredOperatorsList(operators)| operators)
    }

    pub(crate) async fn operator(&self, report: &OperatorMonitorReport) -> Result<(), Error> {
        let call = self.client.call(OperationId::ReportMonitoredOperatorStatus);
        call.path("cluster_id", self.cluster).json(report).send_empty().await
    }

    pub(crate) async fn ingress_ca(&self, bundle: &str) -> Result<(), Error> {
        let call = self.client.call(OperationId::UploadClusterIngressCert).path("cluster_id", self.cluster);
        call.json(&IngressCertParams(bundle.to_owned())).send_empty().await
    }

    pub(crate) async fn complete(&self, completion: &CompletionParams) -> Result<(), Error> {
        let call = self.client.call(OperationId::CompleteInstallation).path("cluster_id", self.cluster);
        call.json(completion).send_empty().await
    }

    pub(crate) async fn logs_progress(&self, logs_state: LogsState) -> Result<(), Error> {
        let call = self.client.call(OperationId::UpdateClusterLogsProgress).path("cluster_id", self.cluster);
        call.json(&LogsProgressParams { logs_state }).send_empty().await
    }

    /// Uploads an archive; its file name is shown to people.
    pub(crate) async fn upload_logs(&self, archive: &Path) -> Result<(), Error> {
        let call = self.client.call(OperationId::UploadLogs).path("cluster_id", self.cluster);
        call.query("logs_type", Some("controller")).file("upfile", archive).send_empty().await
    }

    pub(crate) async fn event(&self, event: &Event) -> Result<(), Error> {
        self.client.trigger_event(event).await
    }

    /// A file made for the cluster.
    pub(crate) async fn file(&self, name: &str) -> Result<Vec<u8>, FileError> {
        Ok(self.client.download_cluster_file(self.cluster, name).await?.bytes(LONGEST).await?)
    }

    /// The administrator's kubeconfig, in a file that only this process's user can read; downloaded once.
    pub(crate) async fn kubeconfig(&self) -> Result<&NamedTempFile, FileError> {
        let download = async || {
            let name = "kubeconfig-noingress";
            let download = self.client.download_cluster_credentials(self.cluster, name).await?;
            let bytes = download.bytes(LONGEST).await?;
            let file = NamedTempFile::with_prefix("kubeconfig-")?;
            std::fs::write(file.path(), bytes)?;
            Ok(file)
        };
        self.kubeconfig.get_or_try_init(download).await
    }
}
