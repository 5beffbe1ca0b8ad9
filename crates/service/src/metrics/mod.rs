//! The room for metrics: what happened is counted and timed here, for Prometheus (service-api §17.2, running §1).
//!
//! The measures of clusters and hosts come from [`assisted_core::decide::measure`], which finds them in what a transaction has changed.

mod caches;
mod families;
mod folder;
mod outbox;
mod process;
mod work;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use assisted_base::metrics::{CONTENT_TYPE, Record};
use assisted_base::metrics::{HttpMetrics, HttpNames, text};
use assisted_core::model::measurement::{FailedWhen, HostEnded, Measured, Measurement, ProgramUsed, Subject};
use assisted_reconcile::Status;
use assisted_wire::id::ClusterId;
use parking_lot::Mutex;
use prometheus::Registry;

use self::caches::CacheSizes;
pub(crate) use self::caches::{Caches, Held};
use self::families::Families;
use self::folder::Folder;
use self::outbox::Outbox;
use self::process::Process;
use self::work::{BusyTime, Drivers, SetAside};
use crate::{Error, TokenResource};

const HTTP: HttpNames = HttpNames {
    prefix: "",
    service: "assisted-installer",
    durations: &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0],
    sizes: &[100.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9],
    inflight_by_method: true,
};

/// Names of images that are told apart; hosts could report any.
const MOST_IMAGES: usize = 256;
/// The name of all others.
const OTHER: &str = "other";

/// Where in a request it stood what a token of a URL was checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeOf {
    Path,
    Query,
}

/// The measures of one service; a clone is another handle on the same ones.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    families: Families,
    requests: HttpMetrics,
    process: Process,
    drivers: Drivers,
    caches: CacheSizes,
    outbox: Outbox,
    busy_time: BusyTime,
    set_aside: SetAside,
    folder: OnceLock<Folder>,
    images: Mutex<HashSet<String>>,
}

impl Metrics {
    /// Measures of a service that has done nothing yet.
    ///
    /// # Errors
    ///
    /// Never, unless two measures have one name.
    pub(crate) fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        Ok(Self(Arc::new(Inner {
            families: Families::new(&registry)?,
            requests: HttpMetrics::new(HTTP, &registry)?,
            process: Process::new(&registry)?,
            drivers: Drivers::new(&registry)?,
            caches: CacheSizes::new(&registry)?,
            outbox: Outbox::new(&registry)?,
            busy_time: BusyTime::default(),
            set_aside: SetAside::default(),
            folder: OnceLock::new(),
            images: Mutex::default(),
            registry,
        })))
    }

    /// Has a folder measured from now on, the first that is named.
    pub(crate) fn watch_folder(&self, path: PathBuf) -> prometheus::Result<()> {
        let folder = Folder::new(path, &self.0.registry)?;
        // Only one is ever named.
        let _ = self.0.folder.set(folder);
        Ok(())
    }

    /// Measures of the messages for others.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    /// Has a driver of work measured from now on.
    pub(crate) fn watch_driver(&self, status: Arc<Status>) {
        self.0.drivers.add(status);
    }

    /// Has what caches hold measured from now on.
    pub(crate) fn watch_caches(&self, caches: impl Caches + 'static) {
        self.0.caches.watch(caches);
    }

    /// All of it, as Prometheus reads it.
    ///
    /// # Errors
    ///
    /// The measures can't be printed.
    pub async fn text(&self) -> Result<Vec<u8>, Error> {
        let inner = Arc::clone(&self.0);
        let printed = tokio::task::spawn_blocking(move || {
            inner.process.measure();
            inner.drivers.measure();
            inner.caches.measure();
            if let Some(folder) = inner.folder.get() {
                folder.measure();
            }
            text(&inner.registry)
        });
        printed.await.map_err(Error::internal)?.map_err(Error::internal)
    }

    /// Begins to measure a request of the API. `handler` is the path of its operation, with names in the place of values.
    pub fn request(&self, handler: &str, method: &str) -> Record {
        self.0.requests.record(handler, method)
    }

    /// Notes how long something took that dashboards know by name.
    pub fn operation(&self, name: &str, took: Duration) {
        self.0.families.operation_milliseconds.with_label_values(&[name]).observe(milliseconds(took));
    }

    /// Notes whether a request stayed within what the token of its URL is for.
    pub fn scope_check(&self, resource: TokenResource, scope: ScopeOf, allowed: bool) {
        let kind = match resource {
            TokenResource::InfraEnv(_) => "infra_env_id",
            TokenResource::Cluster(_) => "cluster_id",
        };
        let scope = match scope {
            ScopeOf::Path => "path",
            ScopeOf::Query => "query",
        };
        let result = if allowed { "allowed" } else { "denied" };
        self.0.families.scope_checks.with_label_values(&[kind, scope, result]).inc();
    }

    /// Notes that the scheduler begins with a row.
    pub(crate) fn begin_pass(&self) {
        self.0.busy_time.begin();
    }

    /// Notes that it has ended one.
    pub(crate) fn end_pass(&self) {
        let Some(took) = self.0.busy_time.end() else { return };
        let families = &self.0.families;
        for cycles in [&families.cluster_cycles, &families.host_cycles] {
            cycles.with_label_values(&["false"]).observe(milliseconds(took));
        }
        self.operation("ClusterMonitoring", took);
        self.operation("HostMonitoring", took);
    }

    /// Notes how long it took to decide about a cluster, and how many hosts it has.
    pub(crate) fn record_cluster_pass(&self, id: ClusterId, took: Duration, hosts: usize) {
        let families = &self.0.families;
        families.cluster_looks.with_label_values::<&str>(&[]).observe(milliseconds(took));
        for _ in 0..hosts {
            self.record_host_pass(took / u32::try_from(hosts).unwrap_or(u32::MAX));
        }
        self.release_cluster(id);
    }

    /// Notes how long it took to decide about a host.
    pub(crate) fn record_host_pass(&self, took: Duration) {
        self.0.families.host_looks.with_label_values::<&str>(&[]).observe(milliseconds(took));
    }

    /// Notes that a cluster is set aside.
    pub(crate) fn set_cluster_aside(&self, id: ClusterId) {
        let families = &self.0.families;
        families.set_aside.inc();
        families.set_aside_now.set(i64::try_from(self.0.set_aside.add(id)).unwrap_or(i64::MAX));
    }

    /// Notes that a cluster is set aside no more: it could be looked at, or is gone.
    pub(crate) fn release_cluster(&self, id: ClusterId) {
        if let Some(left) = self.0.set_aside.remove(id) {
            self.0.families.set_aside_now.set(i64::try_from(left).unwrap_or(i64::MAX));
        }
    }

    /// The clusters that are set aside.
    pub(crate) fn clusters_aside(&self) -> Vec<ClusterId> {
        self.0.set_aside.all()
    }

    /// Notes what a transaction has brought; only once it is committed.
    pub(crate) fn record(&self, measured: &[Measurement]) {
        for Measurement { what, .. } in measured {
            self.record_one(what);
        }
    }

    fn record_one(&self, measured: &Measured) {
        let families = &self.0.families;
        match measured {
            Measured::ClusterCreated => families.cluster_creations.inc(),
            Measured::InstallationStarted => families.installations_started.inc(),
            Measured::InstallationEnded { result, seconds, .. } => {
                families.installation_seconds.with_label_values(&[*result]).observe(*seconds);
            }
            Measured::StageEnded(stage) => {
                let labels = [stage.phase, stage.result];
                families.phase_seconds.with_label_values(&labels).observe(stage.seconds);
            }
            Measured::HostEnded(host) => self.record_host(host),
            Measured::DiskSynced { milliseconds } => {
                families.disk_syncs.with_label_values::<&str>(&[]).observe(*milliseconds);
            }
            Measured::ImagePulled { image, result, rate } => {
                let image = self.image_label(image);
                families.image_pulls.with_label_values(&[image, result]).observe(*rate);
            }
            Measured::ValidationFailed { of, id, when } => {
                let counters = match (of, when) {
                    (Subject::Host, FailedWhen::Deregistered) => &families.host_validations_left,
                    (Subject::Host, FailedWhen::AfterSuccess) => &families.host_validations_broken,
                    (Subject::Cluster, FailedWhen::Deregistered) => &families.cluster_validations_left,
                    (Subject::Cluster, FailedWhen::AfterSuccess) => &families.cluster_validations_broken,
                };
                counters.with_label_values(&[id.as_str()]).inc();
            }
            Measured::ProgramUsed(used) => self.record_program(used),
            Measured::ImageBuildBegun { .. } => families.image_build_attempts.inc(),
            Measured::ImageBuildEnded(ended) => {
                let labels = [ended.pool, ended.location, ended.result];
                families.image_build_seconds.with_label_values(&labels).observe(ended.seconds);
                if let Some(code) = ended.code {
                    families.image_build_failures.with_label_values(&[code]).inc();
                }
                if let Some(bytes) = ended.bytes {
                    families.image_bytes.with_label_values(&[ended.pool]).observe(bytes as f64);
                }
            }
            // They are events alone.
            Measured::Interfaces { .. } | Measured::SlowRefresh { .. } => {}
        }
    }

    /// The label for the name of an image.
    fn image_label<'n>(&self, image: &'n str) -> &'n str {
        let mut known = self.0.images.lock();
        if known.contains(image) {
            return image;
        }
        if known.len() >= MOST_IMAGES {
            return OTHER;
        }
        known.insert(image.to_owned());
        image
    }

    fn record_host(&self, host: &HostEnded) {
        let families = &self.0.families;
        let labels = [host.role, host.result];
        families.hosts.with_label_values(&labels).inc();
        families.host_cores.with_label_values(&labels).observe(host.cores as f64);
        families.host_ram.with_label_values(&labels).observe(host.memory_gib() as f64);
        for (kind, size) in host.disks_gib() {
            families.host_disks.with_label_values(&[kind, host.role, host.result]).observe(size as f64);
        }
        for speed in &host.nics {
            families.host_nics.with_label_values(&labels).observe(*speed as f64);
        }
    }

    fn record_program(&self, used: &ProgramUsed) {
        let families = &self.0.families;
        let minor: Vec<&str> = used.version.splitn(3, '.').take(2).collect();
        let release = if minor.len() == 2 { minor.join(".") } else { "unknown".to_owned() };
        let truth = |is: bool| if is { "true" } else { "false" };
        families.releases.with_label_values(&[release.as_str(), truth(used.cached)]).inc();
        if let Some(removed) = used.evicted {
            families.release_evictions.with_label_values(&[truth(removed)]).inc();
        }
    }
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests;
