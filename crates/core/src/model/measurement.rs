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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    /// Kinds and facts of the events of a measurement.
    fn events(what: Measured) -> Vec<(String, Value)> {
        let (cluster, host) = (ClusterId::random(), HostId::random());
        let measurement = Measurement { cluster_id: Some(cluster), host_id: Some(host), what };
        let told = |event: NewEvent| {
            assert_eq!((event.name, event.category), ("", EventCategory::Metrics));
            assert_eq!(
                (event.cluster_id, event.host_id, event.infra_env_id),
                (Some(cluster), Some(host), None)
            );
            (event.message, event.props.unwrap())
        };
        measurement.events().into_iter().map(told).collect()
    }

    fn one(kind: &str, facts: Value) -> (String, Value) {
        (kind.to_owned(), facts)
    }

    #[test]
    fn an_installation_and_a_stage() {
        let ended = Measured::InstallationEnded { result: "error", last_state: "installing", seconds: 61.5 };
        let facts = json!({"duration": 61.5, "result": "error", "lastState": "installing"});
        assert_eq!(events(ended), [one("cluster.installation.results", facts)]);
        let stage = Measured::StageEnded(StageEnded {
            phase: "Writing image to disk",
            result: "Failed",
            seconds: 9.0,
            vendor: "Maker".to_owned(),
            product: "Box".to_owned(),
            disk_type: "SSD",
            role: "worker",
        });
        let facts = json!({
            "result": "Failed", "duration": 9.0, "host_stage": "Writing image to disk", "vendor": "Maker",
            "product": "Box", "disk_type": "SSD", "host_role": "worker",
        });
        assert_eq!(events(stage), [one("host.stage.duration", facts)]);
    }

    /// Sizes are whole GiB, whatever the members are called; speeds are Mbit/s.
    #[test]
    fn what_a_host_is_made_of() {
        let host = Measured::HostEnded(HostEnded {
            result: "Done",
            role: "master",
            cores: 8,
            memory_bytes: (33 << 30) - 1,
            disks: vec![("SSD", 120 << 30), ("HDD", 1_000_000_000_000)],
            nics: vec![1000, -1],
        });
        let of = |facts: Value| {
            let mut all = json!({"host_result": "Done", "host_role": "master"});
            for (name, value) in facts.as_object().unwrap() {
                all[name] = value.clone();
            }
            all
        };
        let expected = [
            one("host.mem.cpu", of(json!({"mem_bytes": 32, "core_count": 8}))),
            one("disk.size.type", of(json!({"disk_type": "SSD", "disk_size": 120}))),
            one("disk.size.type", of(json!({"disk_type": "HDD", "disk_size": 931}))),
            one("nic.speed", of(json!({"nic_speed": 1000}))),
            one("nic.speed", of(json!({"nic_speed": -1}))),
        ];
        assert_eq!(events(host), expected);
    }

    #[test]
    fn interfaces_decisions_and_programs() {
        let interfaces = Measured::Interfaces { physical: 2, other: vec!["tun".to_owned()] };
        let expected = [
            one("nic.virtual_interfaces", json!({"count": 1, "types": ["tun"]})),
            one("nic.physical_interfaces", json!({"count": 2})),
        ];
        assert_eq!(events(interfaces), expected);
        for (of, kind) in
            [(Subject::Cluster, "cluster_monitor.slow_cluster"), (Subject::Host, "host_monitor.slow_host")]
        {
            let slow = Measured::SlowRefresh { of, milliseconds: 1500 };
            assert_eq!(events(slow), [one(kind, json!({"duration": 1500}))]);
        }
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let program = Measured::ProgramUsed(ProgramUsed {
            release: "quay.io/release:4.22.1".to_owned(),
            version: "4.22.1".to_owned(),
            cached: false,
            evicted: None,
            started_at: at("2026-01-02T03:04:05Z"),
            ended_at: at("2026-01-02T03:04:07.5Z"),
        });
        let facts = json!({
            "release_id": "quay.io/release:4.22.1", "start_time": "2026-01-02T03:04:05Z",
            "end_time": "2026-01-02T03:04:07.5Z", "cached": false, "extract_duration": 2.5,
        });
        assert_eq!(events(program), [one("installercache.release.metrics", facts)]);
        assert!(events(Measured::ClusterCreated).is_empty());
    }
}
