//! The image of this host's pool, which is built while the cluster is installed: waiting for it, trusting where it comes from, laying it
//! on the disk, keeping a copy for the others (ocl-day1 §B6, §B7).

mod builder;
mod deploy;
mod replica;
mod trust;
mod wait;

use std::net::IpAddr;
use std::time::Duration;

use assisted_base::http::Proxies;
use assisted_ocl::service::{Access, Layering, LayeringError};
use assisted_wire::host::HostRole;
use assisted_wire::on_cluster_layering::{HostPhase, LayeringErrorCode, LayeringHost, LayeringState, Pool};
use tracing::{info, warn};

use crate::attempts::{Exhausted, attempts};
use crate::config::Config;
use crate::disk::{OverwriteError, PartitionError};
use crate::host::{FileError, Host, RunError};
use crate::ignition::MachineConfigError;
use crate::service::Service;

/// Asking the service whether there is anything of this at all: for about ten minutes.
const LOOKS: u32 = 60;
const LOOK_PAUSE: u64 = 10;
/// How often a report that users must see is tried.
const REPORT_ATTEMPTS: u32 = 6;
const REPORT_PAUSE: u64 = 10;
/// How long after this host is ready to go the others may take until they are, too.
const OTHERS: Duration = Duration::from_secs(2 * 3_600);

pub(crate) use builder::{admit, end};
pub(crate) use trust::credentials_for;

/// Why a host doesn't get the image of its pool. The text is what the service shows.
#[derive(Debug, thiserror::Error)]
pub enum LayeringFailure {
    #[error("OS image: {code}: {message}")]
    Build { code: LayeringErrorCode, message: String },
    #[error("OS image: deploy: the state of image mode could not be asked from the service: {0}")]
    Unknown(#[from] Exhausted<LayeringError>),
    #[error("OS image: deploy: pool {0} has no build")]
    NoBuild(Pool),
    #[error("OS image: timeout: the image of pool {pool} wasn't ready within {minutes} minutes")]
    Late { pool: Pool, minutes: u64 },
    #[error("OS image: deploy: the machine config server isn't to be had: {0}")]
    MachineConfig(#[from] Exhausted<MachineConfigError>),
    #[error("OS image: deploy: bootstrap served {served}, expected {expected}")]
    Another { served: String, expected: String },
    #[error("OS image: deploy: {0}")]
    Deploy(#[from] OverwriteError),
    #[error("OS image: deploy: {0}")]
    Run(#[from] RunError),
    #[error("OS image: deploy: {0}")]
    File(#[from] FileError),
    #[error("OS image: registry: {0}")]
    Replica(String),
    #[error(
        "OS image: registry: {image} can't be read on this host; look whether something between the hosts closes its registry's port: {error}"
    )]
    Registry { image: String, error: Box<Exhausted<RunError>> },
    #[error("OS image: deploy: {0}")]
    Partition(#[from] PartitionError),
}

/// The images of the cluster, for this host.
pub(crate) struct Layered<'a> {
    config: &'a Config,
    host: &'a Host,
    service: &'a Service,
    images: Layering,
    state: LayeringState,
    pool: Pool,
}

/// The service's view of images.
pub(crate) fn client(config: &Config) -> Result<Layering, LayeringError> {
    let access = Access {
        url: config.url.clone(),
        token: config.token.clone(),
        insecure: config.insecure,
        ca_file: config.ca_file.clone(),
        proxies: Proxies::FromEnvironment,
    };
    Layering::new(access, config.cluster_id)
}

impl<'a> Layered<'a> {
    /// `None` where the cluster's nodes boot what the release has.
    pub(crate) async fn find(
        config: &'a Config,
        host: &'a Host,
        service: &'a Service,
    ) -> Result<Option<Self>, LayeringFailure> {
        if config.dry_run.is_some() || config.role == HostRole::Arbiter {
            return Ok(None);
        }
        let once = |last| Exhausted { attempts: 1, last };
        let images = client(config).map_err(once)?;
        // A host that is refused for a moment must not be given the release's own system in place of its pool's image.
        let look = async || images.state().await;
        let Some(state) = attempts(LOOKS, LOOK_PAUSE, config.intervals, look).await? else { return Ok(None) };
        let pool = if config.role == HostRole::Worker { Pool::Worker } else { Pool::Master };
        info!(%pool, registry = state.registry_type, rollout = state.rollout, "this host boots an image of its pool");
        Ok(Some(Self { config, host, service, images, state, pool }))
    }

    fn is_embedded(&self) -> bool {
        self.state.registry_type == "Embedded"
    }

    /// Whether nodes first boot the release's image, and then the pool's.
    fn switches(&self) -> bool {
        self.state.rollout == "Switch"
    }

    /// Reports what this host does. A report that isn't taken is no reason to stop.
    pub(crate) async fn phase(&self, phase: HostPhase, info: &str) {
        if let Err(error) = self.report_phase(phase, info).await {
            warn!(%error, "what this host does can't be reported");
        }
    }

    async fn report_phase(&self, phase: HostPhase, info: &str) -> Result<(), LayeringError> {
        let Some(host_id) = self.config.host_id else { return Ok(()) };
        self.images.report_host(self.pool, LayeringHost { host_id, phase, info: info.to_owned() }).await
    }

    /// Reports that the pool's image is not what this host boots first, of which users get an event. It is reported again until the service
    /// takes it, for about a minute.
    async fn report_switch(&self, why: &OverwriteError) {
        warn!(error = %why, "the first start is in the release's image, the second in the pool's");
        let why = why.to_string();
        let report = async || self.report_phase(HostPhase::Switching, &why).await;
        if let Err(error) = attempts(REPORT_ATTEMPTS, REPORT_PAUSE, self.config.intervals, report).await {
            warn!(%error, "that this host switches later can't be reported");
        }
    }

    /// Addresses of the bootstrap host, or of the API where that stands.
    async fn api_addresses(&self) -> Vec<IpAddr> {
        match self.service.api_addresses(self.pool == Pool::Worker).await {
            Ok(addresses) => addresses,
            Err(error) => {
                warn!(%error, "addresses of the API aren't known");
                Vec::new()
            }
        }
    }
}
