//! What a row of due work is about, and the two texts that name it in the table.

use std::fmt;
use std::str::FromStr;

use assisted_core::model::host::HostKey;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};

/// What a reconciler works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Due {
    /// A cluster with all its hosts.
    Cluster(ClusterId),
    /// A host without a cluster.
    Host(HostKey),
    /// Rows that have been kept long enough.
    Sweep(Sweep),
    /// Messages that wait for somebody.
    Outbox(Sink),
    /// Clusters that somebody is to be told about.
    Upload,
}

/// A clean-up that runs from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sweep {
    /// Clusters that nobody touches.
    InactiveClusters,
    /// Clusters and hosts that were deregistered.
    Deregistered,
    /// Infra-envs that nobody touches, with their hosts.
    UnusedInfraEnvs,
    /// Events of what is not there, or of nothing at all.
    EventsOfNothing,
}

/// Whom messages are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sink {
    /// A topic of Kafka.
    Kafka,
    /// An HTTP server that takes CloudEvents.
    Webhook,
}

impl Sink {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Kafka, Self::Webhook];

    /// Its name in the tables and for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Webhook => "webhook",
        }
    }
}

impl FromStr for Sink {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|sink| sink.name() == name).ok_or(())
    }
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const CLUSTER: &str = "cluster";
const HOST: &str = "host";
const SWEEP: &str = "sweep";
const OUTBOX: &str = "outbox";
const UPLOAD: &str = "upload";

impl Sweep {
    /// All clean-ups.
    pub const ALL: [Self; 4] =
        [Self::InactiveClusters, Self::Deregistered, Self::UnusedInfraEnvs, Self::EventsOfNothing];

    /// The name of the clean-up in the table and for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::InactiveClusters => "inactive-clusters",
            Self::Deregistered => "deregistered",
            Self::UnusedInfraEnvs => "unused-infra-envs",
            Self::EventsOfNothing => "events-of-nothing",
        }
    }
}

impl FromStr for Sweep {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|sweep| sweep.name() == name).ok_or(())
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(id) => write!(f, "cluster {id}"),
            Self::Host(key) => write!(f, "host {}", key.host_id),
            Self::Sweep(sweep) => write!(f, "sweep {}", sweep.name()),
            Self::Outbox(sink) => write!(f, "outbox {sink}"),
            Self::Upload => f.write_str(UPLOAD),
        }
    }
}

impl Due {
    /// The kind of object, as the table names it.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Cluster(_) => CLUSTER,
            Self::Host(_) => HOST,
            Self::Sweep(_) => SWEEP,
            Self::Outbox(_) => OUTBOX,
            Self::Upload => UPLOAD,
        }
    }

    /// The object among those of its kind.
    pub(crate) fn key(self) -> String {
        match self {
            Self::Cluster(id) => id.0.simple().to_string(),
            Self::Host(key) => format!("{}{}", key.infra_env_id.0.simple(), key.host_id.0.simple()),
            Self::Sweep(sweep) => sweep.name().to_owned(),
            Self::Outbox(sink) => sink.name().to_owned(),
            Self::Upload => String::new(),
        }
    }

    /// Reads the two texts; `None` for what only a newer program knows.
    pub(crate) fn parse(what: &str, key: &str) -> Option<Self> {
        match what {
            CLUSTER => key.parse().ok().map(Self::Cluster),
            HOST => {
                let (infra_env, host) = key.split_at_checked(32)?;
                let infra_env_id: InfraEnvId = infra_env.parse().ok()?;
                let host_id: HostId = host.parse().ok()?;
                Some(Self::Host(HostKey { infra_env_id, host_id }))
            }
            SWEEP => key.parse().ok().map(Self::Sweep),
            OUTBOX => key.parse().ok().map(Self::Outbox),
            UPLOAD => Some(Self::Upload),
            _ => None,
        }
    }
}
