//! What is counted and timed about clusters and hosts: each is for the service's metrics, and some leave an event, too (running §1.1, §2).

use assisted_wire::event::{EventCategory, EventSeverity};
use assisted_wire::id::{ClusterId, HostId};
use serde_json::{Value, json};

use crate::model::event::NewEvent;

/// Bytes of a GiB.
const GIB: i64 = 1 << 30;

/// A measurement, and what it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    pub cluster_id: Option<ClusterId>,
    pub host_id: Option<HostId>,
    pub what: Measured,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// A cluster was registered.
    ClusterCreated,
    /// A cluster began to be installed.
    InstallationStarted,
    /// An installation ended, or can't go on without its user.
    InstallationEnded {
        result: &'static str,
        /// The state that the cluster was in.
        last_state: &'static str,
        /// Since it was started.
        seconds: f64,
    },
    /// A host left a stage.
    StageEnded(StageEnded),
    /// A host was installed, or failed.
    HostEnded(HostEnded),
    /// The installation disk of a host was measured: how long a synchronous write takes, in milliseconds.
    DiskSynced { milliseconds: f64 },
    /// A host tried to pull an image for the first time.
    ImagePulled {
        image: String,
        result: &'static str,
        /// Megabytes a second.
        rate: f64,
    },
    /// A validation failed when its cluster was deregistered, or began to fail before the installation.
    ValidationFailed { of: Subject, id: String, when: FailedWhen },
    /// The interfaces of a bound host are others than before.
    Interfaces {
        physical: usize,
        /// The types of the others.
        other: Vec<String>,
    },
    /// To decide about a host or a cluster took long.
    SlowRefresh { of: Subject, milliseconds: u64 },
    /// An installer program was needed.
    ProgramUsed(ProgramUsed),
    /// The build of an image of nodes began, for the first time or again.
    ImageBuildBegun { pool: &'static str, location: &'static str },
    /// The build of an image of nodes ended.
    ImageBuildEnded(ImageBuildEnded),
}

/// A build of an image of nodes that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageBuildEnded {
    pub pool: &'static str,
    pub location: &'static str,
    /// `ready` or `failed`.
    pub result: &'static str,
    /// With all its attempts.
    pub seconds: f64,
    /// Why it failed.
    pub code: Option<&'static str>,
    /// Size of the image, if it is known.
    pub bytes: Option<u64>,
}

/// The cluster or the host that a measurement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Cluster,
    Host,
}

/// When a validation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedWhen {
    /// As its cluster was deregistered.
    Deregistered,
    /// After it had succeeded.
    AfterSuccess,
}

/// A stage that a host has left.
#[derive(Clone, Debug, PartialEq)]
pub struct StageEnded {
    /// Its name, or that the host could not begin.
    pub phase: &'static str,
    /// `Done` or `Failed`.
    pub result: &'static str,
    pub seconds: f64,
    /// Who made the host, and as what.
    pub vendor: String,
    pub product: String,
    /// Type of the installation disk.
    pub disk_type: &'static str,
    pub role: &'static str,
}

/// A host whose installation has ended, and what it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEnded {
    /// `Done` or `Failed`.
    pub result: &'static str,
    pub role: &'static str,
    pub cores: i64,
    pub memory_bytes: i64,
    /// Types and bytes of its disks.
    pub disks: Vec<(&'static str, i64)>,
    /// Megabits a second of its interfaces.
    pub nics: Vec<i64>,
}

/// An installer program that was needed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramUsed {
    /// The release image that it is of.
    pub release: String,
    /// The version of that release.
    pub version: String,
    /// Whether it was there.
    pub cached: bool,
    /// Whether others had to give way to it: `Some(false)` when there was none to remove.
    pub evicted: Option<bool>,
    pub started_at: jiff::Timestamp,
    pub ended_at: jiff::Timestamp,
}

impl Measurement {
    /// Of a cluster.
    pub fn of_cluster(cluster_id: ClusterId, what: Measured) -> Self {
        Self { cluster_id: Some(cluster_id), host_id: None, what }
    }

    /// The events that it leaves; most leave none.
    pub fn events(&self) -> Vec<NewEvent> {
        let told = match &self.what {
            Measured::InstallationEnded { result, last_state, seconds } => {
                let props = json!({"duration": seconds, "result": result, "lastState": last_state});
                vec![("cluster.installation.results", props)]
            }
            Measured::StageEnded(stage) => vec![(
                "host.stage.duration",
                json!({
                    "result": stage.result, "duration": stage.seconds, "host_stage": stage.phase, "vendor": stage.vendor,
                    "product": stage.product, "disk_type": stage.disk_type, "host_role": stage.role,
                }),
            )],
            Measured::HostEnded(host) => host.events(),
            Measured::Interfaces { physical, other } => vec![
                ("nic.virtual_interfaces", json!({"count": other.len(), "types": other})),
                ("nic.physical_interfaces", json!({"count": physical})),
            ],
            Measured::SlowRefresh { of, milliseconds } => {
                let message = match of {
                    Subject::Cluster => "cluster_monitor.slow_cluster",
                    Subject::Host => "host_monitor.slow_host",
                };
                vec![(message, json!({"duration": milliseconds}))]
            }
            Measured::ProgramUsed(used) => vec![(
                "installercache.release.metrics",
                json!({
                    "release_id": used.release,
                    "start_time": used.started_at.to_string(),
                    "end_time": used.ended_at.to_string(),
                    "cached": used.cached,
                    "extract_duration": used.ended_at.duration_since(used.started_at).as_secs_f64(),
                }),
            )],
            Measured::ClusterCreated
            | Measured::InstallationStarted
            | Measured::DiskSynced { .. }
            | Measured::ImagePulled { .. }
            | Measured::ValidationFailed { .. }
            | Measured::ImageBuildBegun { .. }
            | Measured::ImageBuildEnded(_) => Vec::new(),
        };
        told.into_iter().map(|(message, props)| self.event(message, props)).collect()
    }

    /// An event of the category for machines: its text is its kind, and it has no name (running §2).
    fn event(&self, message: &str, props: Value) -> NewEvent {
        NewEvent {
            name: "",
            severity: EventSeverity::Info,
            category: EventCategory::Metrics,
            cluster_id: self.cluster_id,
            host_id: self.host_id,
            infra_env_id: None,
            message: message.to_owned(),
            props: Some(props),
        }
    }
}

impl HostEnded {
    /// GiB of its memory.
    pub const fn memory_gib(&self) -> i64 {
        self.memory_bytes / GIB
    }

    /// Types and GiB of its disks.
    pub fn disks_gib(&self) -> impl Iterator<Item = (&'static str, i64)> {
        self.disks.iter().map(|(kind, bytes)| (*kind, bytes / GIB))
    }

    fn events(&self) -> Vec<(&'static str, Value)> {
        let (result, role) = (self.result, self.role);
        let memory = json!({
            "host_result": result, "host_role": role, "mem_bytes": self.memory_gib(), "core_count": self.cores,
        });
        let disk = |(kind, size): (&str, i64)| json!({"host_result": result, "host_role": role, "disk_type": kind, "disk_size": size});
        let nic = |speed: &i64| json!({"host_result": result, "host_role": role, "nic_speed": speed});
        let mut events = vec![("host.mem.cpu", memory)];
        events.extend(self.disks_gib().map(|one| ("disk.size.type", disk(one))));
        events.extend(self.nics.iter().map(|speed| ("nic.speed", nic(speed))));
        events
    }
}
