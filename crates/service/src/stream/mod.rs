//! What is told to others of changes: events, and the state of what changed, each posted in the transaction of the change
//! (running §3).
//!
//! Nothing is rendered unless somebody wants it. What goes out has no secrets, for it lies open in the database until it is
//! sent, and with whoever reads it: see [`without_secrets`].

mod without_secrets;

use std::str::FromStr;

use assisted_core::model::cluster::{ClusterRecord, IpStack};
use assisted_core::model::event::NewEvent;
use assisted_core::model::facts::HostFacts;
use assisted_store::{Batch, NewMessage, Sink};
use assisted_wire::cluster::{Cluster, ClusterKind};
use assisted_wire::event::Event;
use assisted_wire::id::ClusterId;
use assisted_wire::infra_env::InfraEnv;
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use crate::view::cluster::render_without_hosts;
use crate::view::host::full_host;
pub(crate) use without_secrets::WithoutSecrets;

/// What a message tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ClusterState,
    HostState,
    InfraEnv,
    Event,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::ClusterState, Self::HostState, Self::InfraEnv, Self::Event];

    /// Its name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ClusterState => "ClusterState",
            Self::HostState => "HostState",
            Self::InfraEnv => "InfraEnv",
            Self::Event => "Event",
        }
    }
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(())
    }
}

/// Who wants to know what.
#[derive(Debug, Default)]
pub(crate) struct Stream(Vec<(Sink, Vec<Kind>)>);

#[derive(Serialize)]
struct ClusterState {
    #[serde(flatten)]
    cluster: Cluster,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_ip_stack: Option<u8>,
}

impl Stream {
    pub(crate) fn new(wanted: Vec<(Sink, Vec<Kind>)>) -> Self {
        Self(wanted)
    }

    /// Tells of a cluster that is added. One that comes from elsewhere is no news.
    pub(crate) fn added_cluster(&self, batch: &mut Batch, record: &ClusterRecord, now: Timestamp) {
        if record.cluster.kind == ClusterKind::Cluster && !record.cluster.imported {
            self.changed_cluster(batch, record, now);
        }
    }

    /// Tells of a cluster that changed. That one is gone is an event alone.
    pub(crate) fn changed_cluster(&self, batch: &mut Batch, record: &ClusterRecord, now: Timestamp) {
        if record.cluster.deleted_at.is_some() {
            return;
        }
        self.post(batch, Kind::ClusterState, Some(record.cluster.id), now, || ClusterState {
            cluster: render_without_hosts(record).without_secrets(),
            primary_ip_stack: record.primary_ip_stack.map(|stack| if stack == IpStack::V4 { 4 } else { 6 }),
        });
    }

    /// Tells of a host that was added or changed.
    pub(crate) fn changed_host(&self, batch: &mut Batch, host: &HostFacts, now: Timestamp) {
        let of = host.record.host.cluster_id;
        self.post(batch, Kind::HostState, of, now, || full_host(host).without_secrets());
    }

    /// Tells of an infra-env that was added or changed.
    pub(crate) fn changed_infra_env(&self, batch: &mut Batch, infra_env: &InfraEnv, now: Timestamp) {
        let of = infra_env.cluster_id;
        self.post(batch, Kind::InfraEnv, of, now, || infra_env.clone().without_secrets());
    }

    /// Tells of an event of the domain.
    pub(crate) fn emitted(
        &self,
        batch: &mut Batch,
        event: &NewEvent,
        request_id: Option<Uuid>,
        now: Timestamp,
    ) {
        self.post(batch, Kind::Event, event.cluster_id, now, || Event {
            name: event.name.to_owned(),
            cluster_id: event.cluster_id,
            host_id: event.host_id,
            infra_env_id: event.infra_env_id,
            severity: event.severity,
            category: Some(event.category),
            message: event.message.clone(),
            event_time: now.into(),
            request_id,
            props: event.props.as_ref().map(ToString::to_string).unwrap_or_default(),
        });
    }

    /// Tells of an event that a client sent.
    pub(crate) fn triggered(&self, batch: &mut Batch, event: &Event, now: Timestamp) {
        self.post(batch, Kind::Event, event.cluster_id, now, || event.clone());
    }

    fn post<T: Serialize>(
        &self,
        batch: &mut Batch,
        kind: Kind,
        cluster_id: Option<ClusterId>,
        now: Timestamp,
        render: impl FnOnce() -> T,
    ) {
        let mut wanted =
            self.0.iter().filter(|(_, kinds)| kinds.contains(&kind)).map(|(sink, _)| *sink).peekable();
        if wanted.peek().is_none() {
            return;
        }
        let body = match serde_json::to_string(&render()) {
            Ok(body) => body,
            // What is served as JSON can be written as JSON.
            Err(error) => {
                tracing::error!(kind = kind.name(), %error, "a message can't be written");
                return;
            }
        };
        let id = Uuid::new_v4();
        for sink in wanted {
            let message = NewMessage { sink, id, kind: kind.name(), cluster_id, body: body.clone() };
            batch.post(message, now, now);
        }
    }
}
