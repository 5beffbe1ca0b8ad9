//! The measures of clusters, hosts and work, under the names, labels and buckets that dashboards know (service-api §17.2).

use prometheus::core::Collector;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, Result,
    exponential_buckets, linear_buckets,
};

/// Before each name.
pub(super) const PREFIX: &str = "service_assisted_installer_";

/// Seconds of what an installation is made of.
const SECONDS: &[f64] = &[1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0];
/// Milliseconds of one look at a cluster or a host.
const LOOK: &[f64] = &[10.0, 100.0, 200.0, 500.0, 1000.0, 10_000.0, 30_000.0];
/// Seconds of a build.
const BUILDS: &[f64] = &[60.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 5400.0, 10_800.0, 21_600.0];
const DISKS: &[f64] = &[250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16_000.0];
const NICS: &[f64] = &[1.0, 10.0, 20.0, 40.0, 100.0];
const SYNCS: &[f64] = &[1.0, 5.0, 10.0, 15.0, 20.0];

/// Registers measures.
struct Maker<'a>(&'a Registry);

impl Maker<'_> {
    fn add<T: Collector + Clone + 'static>(&self, collector: T) -> Result<T> {
        self.0.register(Box::new(collector.clone()))?;
        Ok(collector)
    }

    fn counter(&self, name: &str, help: &str) -> Result<IntCounter> {
        self.add(IntCounter::new(format!("{PREFIX}{name}"), help)?)
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec> {
        self.add(IntCounterVec::new(Opts::new(format!("{PREFIX}{name}"), help), labels)?)
    }

    fn histogram(&self, name: &str, help: &str, labels: &[&str], buckets: Vec<f64>) -> Result<HistogramVec> {
        let options = HistogramOpts::new(format!("{PREFIX}{name}"), help).buckets(buckets);
        self.add(HistogramVec::new(options, labels)?)
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Families {
    pub cluster_creations: IntCounter,
    pub installations_started: IntCounter,
    pub installation_seconds: HistogramVec,
    pub operation_milliseconds: HistogramVec,
    pub phase_seconds: HistogramVec,
    pub hosts: IntCounterVec,
    pub host_cores: HistogramVec,
    pub host_ram: HistogramVec,
    pub host_disks: HistogramVec,
    pub host_nics: HistogramVec,
    pub disk_syncs: HistogramVec,
    pub image_pulls: HistogramVec,
    pub host_validations_left: IntCounterVec,
    pub host_validations_broken: IntCounterVec,
    pub cluster_validations_left: IntCounterVec,
    pub cluster_validations_broken: IntCounterVec,
    pub host_looks: HistogramVec,
    pub cluster_looks: HistogramVec,
    pub host_cycles: HistogramVec,
    pub cluster_cycles: HistogramVec,
    pub releases: IntCounterVec,
    pub release_evictions: IntCounterVec,
    pub set_aside: IntCounter,
    pub set_aside_now: IntGauge,
    pub scope_checks: IntCounterVec,
    pub image_build_seconds: HistogramVec,
    pub image_build_attempts: IntCounter,
    pub image_build_failures: IntCounterVec,
    pub image_bytes: HistogramVec,
}

impl Families {
    pub(super) fn new(registry: &Registry) -> Result<Self> {
        let make = Maker(registry);
        let of_host = ["role", "result"];
        let (of_host_validation, of_cluster_validation) = (["hostValidationType"], ["clusterValidationType"]);
        Ok(Self {
            image_build_seconds: make.add(HistogramVec::new(
                HistogramOpts::new("assisted_ocl_build_duration_seconds", "Time that an OS image of nodes took to be built.").buckets(BUILDS.to_vec()),
                &["pool", "location", "result"],
            )?)?,
            image_build_attempts: make.add(IntCounter::new("assisted_ocl_build_attempts_total", "Attempts to build OS images of nodes.")?)?,
            image_build_failures: make.add(IntCounterVec::new(
                Opts::new("assisted_ocl_failures_total", "Builds of OS images of nodes that failed, by what made them fail."),
                &["code"],
            )?)?,
            image_bytes: make.add(HistogramVec::new(
                HistogramOpts::new("assisted_ocl_image_bytes", "Sizes of OS images of nodes.").buckets(exponential_buckets(2.5e8, 2.0, 8)?),
                &["pool"],
            )?)?,
            cluster_creations: make.counter("cluster_creations", "Clusters that were registered or imported.")?,
            installations_started: make
                .counter("cluster_installation_started", "Installations of clusters that began.")?,
            installation_seconds: make.histogram(
                "cluster_installation_seconds",
                "Time from the start of an installation to its end, by how it ended.",
                &["result"],
                SECONDS.to_vec(),
            )?,
            operation_milliseconds: make.histogram(
                "operation_duration_miliseconds",
                "Milliseconds that an operation took.",
                &["operation"],
                operations()?,
            )?,
            phase_seconds: make.histogram(
                "host_installation_phase_seconds",
                "Time that a host spent in a stage of its installation.",
                &["phase", "result"],
                SECONDS.to_vec(),
            )?,
            hosts: make.counters("cluster_hosts", "Hosts whose installation ended.", &of_host)?,
            host_cores: make.histogram(
                "cluster_host_cores",
                "Cores of a host whose installation ended.",
                &of_host,
                exponential_buckets(1.0, 2.0, 10)?,
            )?,
            host_ram: make.histogram(
                "cluster_host_ram_gb",
                "GiB of memory of a host whose installation ended.",
                &of_host,
                exponential_buckets(8.0, 2.0, 9)?,
            )?,
            host_disks: make.histogram(
                "cluster_host_disk_gb",
                "GiB of each disk of a host whose installation ended.",
                &["diskType", "role", "result"],
                DISKS.to_vec(),
            )?,
            host_nics: make.histogram(
                "cluster_host_nic_gb",
                "Megabits a second of each interface of a host whose installation ended; the name says otherwise.",
                &of_host,
                NICS.to_vec(),
            )?,
            disk_syncs: make.histogram(
                "cluster_host_disk_sync_duration_ms",
                "Milliseconds that a synchronous write to an installation disk took.",
                &[],
                SYNCS.to_vec(),
            )?,
            image_pulls: make.histogram(
                "cluster_image_pull_status",
                "Megabytes a second by which a host pulled an image for the first time.",
                &["imageName", "result"],
                [vec![0.1, 0.5, 1.0], linear_buckets(5.0, 5.0, 10)?].concat(),
            )?,
            host_validations_left: make.counters(
                "host_validation_is_in_failed_status_on_cluster_deletion",
                "Validations of hosts that failed when their cluster was deregistered.",
                &of_host_validation,
            )?,
            host_validations_broken: make.counters(
                "host_validation_failed_after_success_before_installation",
                "Validations of hosts that failed after they had succeeded.",
                &of_host_validation,
            )?,
            cluster_validations_left: make.counters(
                "cluster_validation_is_in_failed_status_on_cluster_deletion",
                "Validations of clusters that failed when the cluster was deregistered.",
                &of_cluster_validation,
            )?,
            cluster_validations_broken: make.counters(
                "cluster_validation_failed_after_success_before_installation",
                "Validations of clusters that failed after they had succeeded.",
                &of_cluster_validation,
            )?,
            host_looks: make.histogram(
                "monitored_hosts_duration_ms",
                "Milliseconds to decide about a host; for one of a cluster its share of the time for the cluster.",
                &[],
                LOOK.to_vec(),
            )?,
            cluster_looks: make.histogram(
                "monitored_clusters_duration_ms",
                "Milliseconds to decide about a cluster with its hosts.",
                &[],
                LOOK.to_vec(),
            )?,
            host_cycles: cycles(&make, "monitored_hosts_cycle_duration_ms")?,
            cluster_cycles: cycles(&make, "monitored_clusters_cycle_duration_ms")?,
            releases: make.counters(
                "release_cache",
                "Installer programs that were needed, by whether they were there.",
                &["releaseId", "hit"],
            )?,
            release_evictions: make.counters(
                "release_cache_eviction",
                "How often installer programs had to make room, by whether one was removed.",
                &["success"],
            )?,
            set_aside: make.counter(
                "cluster_blacklisted_events_total",
                "How often a cluster was set aside, for it could not be looked at again and again.",
            )?,
            set_aside_now: make.add(IntGauge::new(
                format!("{PREFIX}blacklisted_clusters_current"),
                "Clusters that this process has set aside.",
            )?)?,
            scope_checks: make.counters(
                "urlauth_scope_checks_total",
                "Checks whether a request stays within what the token of its URL is for.",
                &["resource_type", "scope", "result"],
            )?,
        })
    }
}

/// Milliseconds of operations.
fn operations() -> Result<Vec<f64>> {
    Ok([
        linear_buckets(100.0, 100.0, 10)?,
        linear_buckets(1200.0, 200.0, 5)?,
        linear_buckets(2400.0, 400.0, 4)?,
        vec![4000.0, 5000.0],
    ]
    .concat())
}

fn cycles(make: &Maker<'_>, name: &str) -> Result<HistogramVec> {
    let help = "Milliseconds that the scheduler worked without a rest.";
    let buckets = [vec![1000.0, 10_000.0, 30_000.0], linear_buckets(60_000.0, 60_000.0, 10)?].concat();
    make.histogram(name, help, &["fullscan"], buckets)
}
