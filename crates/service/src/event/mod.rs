//! Use cases of events: listing them, and taking those that clients send.

pub mod live;

use std::sync::Arc;

use assisted_auth::Kind;
use assisted_core::model::refusal::Refusal;
use assisted_store::{Batch, EventOrder, EventQuery, HostFilter};
use assisted_wire::event::{Event, EventCategory, EventList, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};

use crate::access::Access;
use crate::database::Database;
use crate::metrics::ScopeOf;
use crate::parts::Parts;
use crate::view::event::render_event;
use crate::{Caller, Error, TokenResource};
use live::ring::Live;

/// Events of a page when the caller does not say how many.
const PAGE: u64 = 5000;
/// Longest text of an event, in bytes.
const LONGEST_MESSAGE: usize = 4096;

/// Bytes of a name that are kept.
const LONGEST_NAME: usize = 256;

/// More properties than that are not kept: half of them are nothing.
const LONGEST_PROPS: usize = 64 << 10;

/// The use cases of events, and the stream of changes.
#[derive(Clone)]
pub struct Events {
    database: Arc<Database>,
    access: Access,
    live: Arc<Live>,
}

impl Events {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self { database: Arc::clone(&parts.database), access: parts.access.clone(), live: Arc::default() }
    }
}

/// Which events to list.
#[derive(Clone, Debug, Default)]
pub struct ListEvents {
    pub cluster_id: Option<ClusterId>,
    pub host_id: Option<HostId>,
    pub host_ids: Option<Vec<HostId>>,
    pub infra_env_id: Option<InfraEnvId>,
    /// `None`: 5000; negative: all.
    pub limit: Option<i64>,
    pub offset: Option<i64>,
    /// Newest first.
    pub descending: bool,
    pub severities: Option<Vec<EventSeverity>>,
    /// Part of the message, in any case; only with a cluster.
    pub message: Option<String>,
    pub deleted_hosts: Option<bool>,
    pub cluster_level: Option<bool>,
    /// `None`: those for users; empty: none.
    pub categories: Option<Vec<EventCategory>>,
}

/// A page of events, with the counts that go into the response headers.
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    pub events: EventList,
    /// Header `Severity-Count-Info`.
    pub info: u64,
    /// Header `Severity-Count-Warning`.
    pub warning: u64,
    /// Header `Severity-Count-Error`.
    pub error: u64,
    /// Header `Severity-Count-Critical`.
    pub critical: u64,
    /// Header `Event-Count`: events before paging.
    pub total: u64,
}

impl Events {
    /// A page of events (service-api §11.2).
    ///
    /// # Errors
    ///
    /// 404 when the caller's token is for something else.
    pub async fn list(&self, caller: &Caller, query: ListEvents) -> Result<EventPage, Error> {
        let mut host_ids = query.host_ids.unwrap_or_default();
        host_ids.extend(query.host_id);
        self.may_see(caller, query.cluster_id, query.infra_env_id, &host_ids).await?;
        let anything = query.cluster_id.is_some() || query.infra_env_id.is_some() || !host_ids.is_empty();
        if !anything && !caller.is_admin() {
            return Ok(EventPage::default());
        }
        self.may_see_events(caller, query.cluster_id, query.infra_env_id, &host_ids).await?;
        // A category that there is not has no events.
        if query.categories.as_ref().is_some_and(Vec::is_empty) {
            return Ok(EventPage::default());
        }
        let limit = match query.limit {
            None => Some(PAGE),
            Some(limit) => u64::try_from(limit).ok(),
        };
        let page = self
            .database
            .reader()
            .events(&EventQuery {
                cluster_id: query.cluster_id,
                infra_env_id: query.infra_env_id,
                host_ids,
                deleted_hosts: query.deleted_hosts.unwrap_or_default(),
                cluster_level: query.cluster_level.unwrap_or_default(),
                message: query.message,
                categories: query.categories.unwrap_or_default(),
                severities: query.severities.unwrap_or_default(),
                limit,
                offset: query.offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or_default(),
                order: if query.descending { EventOrder::Descending } else { EventOrder::Ascending },
            })
            .await?;
        let [info, warning, error, critical] = page.severity_counts;
        let events = EventList(page.events.into_iter().map(render_event).collect());
        Ok(EventPage { events, info, warning, error, critical, total: page.count })
    }

    /// A token for one resource sees the events of that resource, and of an infra-env's hosts.
    pub(crate) async fn may_see(
        &self,
        caller: &Caller,
        cluster_id: Option<ClusterId>,
        infra_env_id: Option<InfraEnvId>,
        host_ids: &[HostId],
    ) -> Result<(), Error> {
        let allowed = match caller.resource {
            None => true,
            Some(TokenResource::Cluster(id)) => cluster_id == Some(id),
            Some(TokenResource::InfraEnv(id)) if cluster_id.is_none() => {
                let mut own = infra_env_id == Some(id) && host_ids.is_empty();
                if !host_ids.is_empty() {
                    let filter = HostFilter { infra_env_id: Some(id), ..HostFilter::default() };
                    let hosts = self.database.reader().hosts(&filter).await?;
                    own = host_ids.iter().all(|id| hosts.iter().any(|host| host.key.host_id == *id));
                }
                own
            }
            Some(TokenResource::InfraEnv(_)) => false,
        };
        if let (Some(resource), Kind::Link) = (caller.resource, caller.kind) {
            self.database.metrics().scope_check(resource, ScopeOf::Query, allowed);
        }
        if allowed { Ok(()) } else { Err(Refusal::not_found("Object Not Found").into()) }
    }

    /// People see the events of what they see; of hosts, with the infra-env or the cluster that they are of.
    async fn may_see_events(
        &self,
        caller: &Caller,
        cluster_id: Option<ClusterId>,
        infra_env_id: Option<InfraEnvId>,
        host_ids: &[HostId],
    ) -> Result<(), Error> {
        if caller.lists() == (None, None) {
            return Ok(());
        }
        let not_found = || Error::from(Refusal::not_found("Object Not Found"));
        let of_cluster = cluster_id.map(TokenResource::Cluster);
        let named: Vec<_> = of_cluster.into_iter().chain(infra_env_id.map(TokenResource::InfraEnv)).collect();
        for resource in &named {
            let standing = self.access.standing(*resource).await?.ok_or_else(not_found)?;
            if !caller.may_see(&standing.user_name, &standing.org_id) {
                return Err(not_found());
            }
        }
        if host_ids.is_empty() {
            return Ok(());
        }
        let filter = HostFilter { infra_env_id, cluster_id, ..HostFilter::default() };
        let hosts = if named.is_empty() { Vec::new() } else { self.database.reader().hosts(&filter).await? };
        let known = |id: &HostId| hosts.iter().any(|host| host.key.host_id == *id);
        if host_ids.iter().all(known) { Ok(()) } else { Err(not_found()) }
    }

    /// Whoever has a token for one resource may trigger events of that, and of what belongs to it.
    async fn may_trigger(&self, caller: &Caller, event: &Event) -> Result<(), Error> {
        let Some(own) = caller.resource else { return Ok(()) };
        let mut within = true;
        if let Some(cluster) = event.cluster_id {
            within &= match own {
                TokenResource::Cluster(id) => id == cluster,
                TokenResource::InfraEnv(id) => self.access.reaches(id, cluster).await?,
            };
        }
        if let Some(infra_env) = event.infra_env_id {
            within &= match own {
                TokenResource::Cluster(id) => self.access.reaches(infra_env, id).await?,
                TokenResource::InfraEnv(id) => id == infra_env,
            };
        }
        if let Some(host) = event.host_id {
            let filter = match own {
                TokenResource::Cluster(id) => HostFilter { cluster_id: Some(id), ..HostFilter::default() },
                TokenResource::InfraEnv(id) => HostFilter { infra_env_id: Some(id), ..HostFilter::default() },
            };
            let filter = HostFilter { host_id: Some(host), ..filter };
            within &= !self.database.reader().hosts(&filter).await?.is_empty();
        }
        if within { Ok(()) } else { Err(Refusal::not_found("Object Not Found").into()) }
    }

    /// Stores an event that a client sends; its time is now.
    ///
    /// # Errors
    ///
    /// 404 when the caller's token is for something else.
    pub async fn trigger(&self, caller: &Caller, mut event: Event) -> Result<(), Error> {
        self.may_trigger(caller, &event).await?;
        event.event_time = self.database.now().into();
        event.request_id = Some(caller.request_id);
        event.message.truncate(event.message.floor_char_boundary(LONGEST_MESSAGE));
        event.name.truncate(event.name.floor_char_boundary(LONGEST_NAME));
        let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(&event.props).is_ok();
        if event.props.len() > LONGEST_PROPS || !is_json() {
            event.props.clear();
        }
        let mut batch = Batch::new();
        batch.insert_client_event(&event);
        self.database.stream().triggered(&mut batch, &event, event.event_time.0);
        Ok(self.database.commit_silently(batch).await?)
    }
}
