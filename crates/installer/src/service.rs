//! The service, as an installer sees it: reports, files, other hosts (installer-and-controller §A4, §A5, §C).

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use assisted_client::{BuildError, Client, ClusterHostFilter, Download, Error, RetryPolicy};
use assisted_wire::cluster::{Cluster, LogsState};
use assisted_wire::cluster_params::LogsProgressParams;
use assisted_wire::host::{Host as WireHost, HostProgress, HostRole, HostStage, HostStatus};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::inventory::Inventory;
use assisted_wire::on_cluster_layering::Pool;
use assisted_wire::operation::OperationId;
use tracing::{info, warn};

use crate::config::Config;
use crate::host::{FileError, Host};

/// How often a request is repeated while the service is away: for about half an hour.
const RETRIES: u32 = 360;
const DRY_RETRIES: u32 = 3;
/// Longest answer that is read, in bytes: the inventories of a large cluster's hosts.
const LONGEST_ANSWER: usize = 128 << 20;
/// Longest file that is fetched, in bytes.
const LONGEST_FILE: usize = 128 << 20;
/// Longest text that the service keeps with a stage, in characters (installer-and-controller §C).
const LONGEST_INFO: usize = 2_048;

/// Why something of the service isn't to be had.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    Client(#[from] Error),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("a host needs an id to have an Ignition config: give --host-id")]
    NoHostId,
}

/// A host of the cluster other than this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    pub role: HostRole,
    pub status: HostStatus,
    pub stage: Option<HostStage>,
    /// In lower case.
    pub name: String,
    pub ips: BTreeSet<IpAddr>,
}

/// The service, for one host.
#[derive(Clone, Debug)]
pub struct Service {
    client: Client,
    cluster_id: ClusterId,
    infra_env_id: InfraEnvId,
    host_id: Option<HostId>,
}

impl Service {
    /// # Errors
    /// When the address, the token or the certificates can't be used.
    pub fn new(config: &Config) -> Result<Self, BuildError> {
        let retries = if config.dry_run.is_some() { DRY_RETRIES } else { RETRIES };
        let mut builder = Client::builder(&config.url)
            .user_agent(crate::USER_AGENT)
            .insecure(config.insecure)
            .agent_token(config.token.clone())
            .longest_answer(LONGEST_ANSWER)
            .retry(RetryPolicy::patient(retries));
        if let Some(path) = &config.ca_file {
            builder = builder.ca_file(path);
        }
        let (cluster_id, infra_env_id, host_id) = (config.cluster_id, config.infra_env_id, config.host_id);
        Ok(Self { client: builder.build()?, cluster_id, infra_env_id, host_id })
    }

    /// Reports a stage of this host. A report that isn't taken is no reason to stop: the service refuses one that comes
    /// too late, or once more.
    pub async fn report(&self, stage: HostStage, info: &str) {
        info!(%stage, info, "stage");
        let Some(host_id) = self.host_id else { return };
        if let Err(error) = self.progress(self.infra_env_id, host_id, stage, info).await {
            warn!(%stage, %error, "report not taken");
        }
    }

    /// Reports a stage of another host.
    ///
    /// # Errors
    /// When the report isn't taken.
    pub async fn report_peer(&self, peer: &Peer, stage: HostStage) -> Result<(), Error> {
        info!(host = %peer.id, name = peer.name, %stage, "stage of another host");
        self.progress(peer.infra_env_id, peer.id, stage, "").await
    }

    async fn progress(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        stage: HostStage,
        info: &str,
    ) -> Result<(), Error> {
        let progress_info = info.chars().take(LONGEST_INFO).collect();
        let progress = HostProgress { current_stage: Some(stage), progress_info };
        self.client.update_host_install_progress(infra_env, host, &progress).await
    }

    /// Fetches this host's Ignition config to a file of the host.
    ///
    /// # Errors
    /// When it isn't to be had or can't be written.
    pub async fn fetch_host_ignition(&self, host: &Host, to: &str) -> Result<(), ServiceError> {
        let id = self.host_id.ok_or(ServiceError::NoHostId)?;
        let call = self.client.call(OperationId::DownloadHostIgnition);
        let call = call.path("infra_env_id", self.infra_env_id).path("host_id", id);
        save(call.download().await?, host, to).await
    }

    /// Fetches a file of the cluster to a file of the host.
    ///
    /// # Errors
    /// When it isn't to be had or can't be written.
    pub async fn fetch_cluster_file(&self, name: &str, host: &Host, to: &str) -> Result<(), ServiceError> {
        save(self.client.download_cluster_file(self.cluster_id, name).await?, host, to).await
    }

    /// The cluster without its hosts.
    ///
    /// # Errors
    /// When it isn't to be had.
    pub async fn cluster(&self) -> Result<Cluster, Error> {
        self.client.get_cluster_alone(self.cluster_id).await
    }

    /// Stages of the cluster's hosts of a role.
    ///
    /// # Errors
    /// When they aren't to be had.
    pub async fn stages_of(&self, role: HostRole) -> Result<Vec<Option<HostStage>>, Error> {
        let filter = ClusterHostFilter { role: Some(role.to_string()), ..ClusterHostFilter::default() };
        let hosts = self.client.list_cluster_hosts(self.cluster_id, &filter).await?;
        Ok(hosts.iter().map(WireHost::stage).collect())
    }

    /// The cluster's other hosts that take part.
    ///
    /// # Errors
    /// When they aren't to be had.
    pub async fn peers(&self) -> Result<Vec<Peer>, Error> {
        let cluster = self.client.get_cluster(self.cluster_id).await?;
        let others = cluster.hosts.into_iter().flatten();
        let others =
            others.filter(|host| host.status != HostStatus::Disabled && Some(host.id) != self.host_id);
        Ok(others.map(|host| self.peer(&host)).collect())
    }

    /// Addresses of whoever answers as the cluster's API: the bootstrap host, or the cluster itself once it `stands`.
    ///
    /// # Errors
    /// When they aren't to be had.
    pub async fn api_addresses(&self, stands: bool) -> Result<Vec<IpAddr>, Error> {
        let cluster = self.client.get_cluster(self.cluster_id).await?;
        if stands {
            let vips = cluster.api_vips.iter().flatten();
            return Ok(vips.filter_map(|vip| vip.ip.0.parse().ok()).collect());
        }
        let hosts = cluster.hosts.into_iter().flatten();
        let bootstrap = hosts.filter(|host| host.bootstrap && Some(host.id) != self.host_id);
        let addresses = bootstrap.flat_map(|host| self.peer(&host).ips).collect::<Vec<_>>();
        // A link's own addresses lead nowhere without the link.
        let is_local = |ip: &IpAddr| match ip {
            IpAddr::V4(ip) => ip.is_link_local() || ip.is_loopback(),
            IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.is_loopback(),
        };
        Ok(addresses.into_iter().filter(|ip| !is_local(ip)).collect())
    }

    /// A host whose inventory can't be read is known by its name alone.
    fn peer(&self, host: &WireHost) -> Peer {
        let inventory: Inventory = serde_json::from_str(&host.inventory).unwrap_or_else(|error| {
            warn!(host = %host.id, %error, "no inventory");
            Inventory::default()
        });
        let addresses =
            inventory.interfaces.iter().flatten().flat_map(|interface| {
                interface.ipv4_addresses.iter().chain(&interface.ipv6_addresses).flatten()
            });
        let ips = addresses.filter_map(|address| address.split('/').next()?.parse().ok()).collect();
        Peer {
            id: host.id,
            infra_env_id: host.infra_env_id.unwrap_or(self.infra_env_id),
            role: host.role.unwrap_or(HostRole::Master),
            status: host.status,
            stage: host.stage(),
            name: host.requested_hostname.to_lowercase(),
            ips,
        }
    }

    /// Tells that logs of this host will come; a failure is only logged.
    pub async fn expect_host_logs(&self) {
        let Some(host_id) = self.host_id else { return };
        let call = self.client.call(OperationId::UpdateHostLogsProgress);
        let call = call.path("infra_env_id", self.infra_env_id).path("host_id", host_id);
        let told = call.json(&LogsProgressParams { logs_state: LogsState::Requested }).send_empty();
        if let Err(error) = told.await {
            warn!(%error, "progress of logs not taken");
        }
    }

    /// Tells that logs of the controller will come; a failure is only logged.
    pub async fn expect_cluster_logs(&self) {
        let call =
            self.client.call(OperationId::UpdateClusterLogsProgress).path("cluster_id", self.cluster_id);
        let told = call.json(&LogsProgressParams { logs_state: LogsState::Requested }).send_empty();
        if let Err(error) = told.await {
            warn!(%error, "progress of the cluster's logs not taken");
        }
    }

    /// Sends an archive of what the build of a pool's image has written.
    ///
    /// # Errors
    /// When it isn't taken.
    pub async fn upload_build_logs(&self, pool: Pool, archive: &Path) -> Result<(), Error> {
        self.client.upload_on_cluster_layering_logs(self.cluster_id, pool, archive).await
    }

    /// Sends an archive of the controller's logs.
    ///
    /// # Errors
    /// When it isn't taken.
    pub async fn upload_controller_logs(&self, archive: &Path) -> Result<(), Error> {
        let call = self.client.call(OperationId::UploadLogs).path("cluster_id", self.cluster_id);
        call.query("logs_type", Some("controller")).file("upfile", archive).send_empty().await
    }
}

async fn save(download: Download, host: &Host, to: &str) -> Result<(), ServiceError> {
    let bytes = download.bytes(LONGEST_FILE).await?;
    // Ignition configs hold tokens and pull secrets.
    Ok(host.write(to, 0o600, bytes)?)
}
