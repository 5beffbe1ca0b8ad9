//! Writes and reads of events, by page and by number.

use assisted_core::model::event::NewEvent;
use assisted_wire::event::{Event, EventCategory, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::time::DateTime;
use jiff::Timestamp;
use uuid::Uuid;

use crate::batch::Batch;
use crate::error::Error;
use crate::statement::{Bulk, Column, Duplicates, Select, Statement};
use crate::store::Reader;
use crate::subject::Subject;
use crate::value::{Row, Value};

const COLUMNS: &str = "select e.name, e.severity, e.category, e.cluster_id, e.host_id, e.infra_env_id, e.request_id, e.at, \
     e.message, e.props, e.id from events e";

const COUNTS: &str = "select e.severity, count(*) from events e";

const INSERT: &str = "insert into events (at, name, severity, category, cluster_id, host_id, infra_env_id, request_id, \
     message, props) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

static INSERT_BULK: Bulk = {
    use Column::{Int, Text, Uuid};
    Bulk {
        table: "events",
        columns: &[Int, Text, Text, Text, Uuid, Uuid, Uuid, Uuid, Text, Text],
        duplicates: Duplicates::Sent,
    }
};

/// Which events (service-api §11.2).
///
/// The cluster wins over the infra-env, and the infra-env without hosts over the hosts; with none of them, all events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventQuery {
    pub cluster_id: Option<ClusterId>,
    pub infra_env_id: Option<InfraEnvId>,
    pub host_ids: Vec<HostId>,
    /// With a cluster only: events of soft-deleted hosts; joined by "or" with `cluster_level` and `host_ids`.
    pub deleted_hosts: bool,
    /// With a cluster only: events that name no host.
    pub cluster_level: bool,
    /// With a cluster only: part of the message, in any case.
    pub message: Option<String>,
    /// None: `user`.
    pub categories: Vec<EventCategory>,
    /// None: all. Applied after the severities are counted.
    pub severities: Vec<EventSeverity>,
    /// `None`: no limit.
    pub limit: Option<u64>,
    pub offset: u64,
    pub order: EventOrder,
}

/// Events in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewEvents {
    /// Number of the newest event that there is; 0 without one. It only ever falls when the newest were deleted.
    pub newest: i64,
    /// Each with its number.
    pub events: Vec<(i64, Event)>,
}

/// Order by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventOrder {
    #[default]
    Ascending,
    Descending,
}

/// A page of events with the counts over all pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// The number of each of `events`, in their order.
    pub numbers: Vec<i64>,
    /// Events that match all but `severities`, in the order of [`EventSeverity::ALL`]; 0 without a cluster.
    pub severity_counts: [u64; 4],
    /// Events that match, on all pages.
    pub count: u64,
}

impl Batch {
    /// Adds an event of the domain.
    pub fn insert_event(&mut self, event: &NewEvent, at: Timestamp, request_id: Option<Uuid>) -> &mut Self {
        let props = event.props.as_ref().map(ToString::to_string).unwrap_or_default();
        let params = vec![
            nanoseconds(at),
            event.name.into(),
            event.severity.as_str().into(),
            event.category.as_str().into(),
            event.cluster_id.map(|id| id.0).into(),
            event.host_id.map(|id| id.0).into(),
            event.infra_env_id.map(|id| id.0).into(),
            request_id.into(),
            event.message.clone().into(),
            props.into(),
        ];
        self.push(Statement::new(INSERT, params).bulk(&INSERT_BULK)).touch(Subject::Events)
    }

    /// Adds an event that a client sent, as it is; without a category it is for users.
    pub fn insert_client_event(&mut self, event: &Event) -> &mut Self {
        let params = vec![
            nanoseconds(event.event_time.0),
            event.name.clone().into(),
            event.severity.as_str().into(),
            event.category.unwrap_or(EventCategory::User).as_str().into(),
            event.cluster_id.map(|id| id.0).into(),
            event.host_id.map(|id| id.0).into(),
            event.infra_env_id.map(|id| id.0).into(),
            event.request_id.into(),
            event.message.clone().into(),
            event.props.clone().into(),
        ];
        self.push(Statement::new(INSERT, params).bulk(&INSERT_BULK)).touch(Subject::Events)
    }
}

impl Reader {
    /// A page of events and the counts over all pages.
    pub async fn events(&self, query: &EventQuery) -> Result<EventPage, Error> {
        let mut counts = Select::new(COUNTS);
        conditions(&mut counts, query);
        counts.tail(" group by e.severity");

        let mut page = Select::new(COLUMNS);
        conditions(&mut page, query);
        if !query.severities.is_empty() {
            page.one_of(
                "e.severity",
                query.severities.iter().map(|severity| Value::Static(severity.as_str())),
            );
        }
        page.tail(match query.order {
            EventOrder::Ascending => " order by e.at, e.id limit ",
            EventOrder::Descending => " order by e.at desc, e.id desc limit ",
        });
        page.param(query.limit.map_or(i64::MAX, to_i64)).tail(" offset ").param(to_i64(query.offset));

        let mut answers = self.read_all(vec![counts.build(), page.build()]).await?.into_iter();
        let mut answer = EventPage::default();
        for row in answers.next().unwrap_or_default() {
            let severity: EventSeverity = row.text(0)?.parse().map_err(Error::Corrupt)?;
            let count = row.int(1)?.unsigned_abs();
            if query.severities.is_empty() || query.severities.contains(&severity) {
                answer.count += count;
            }
            if query.cluster_id.is_some() {
                for (place, known) in EventSeverity::ALL.iter().enumerate() {
                    if *known == severity {
                        answer.severity_counts[place] = count;
                    }
                }
            }
        }
        for mut row in answers.next().unwrap_or_default() {
            answer.numbers.push(row.int(10)?);
            answer.events.push(read(&mut row)?);
        }
        Ok(answer)
    }
}

impl Reader {
    /// The events for users with higher numbers than `after`, of one cluster or of all, in the order of their numbers;
    /// only the newest `limit` if there are more.
    ///
    /// On PostgreSQL an event of another replica may appear later than one with a higher number.
    pub async fn events_after(
        &self,
        after: i64,
        cluster: Option<ClusterId>,
        limit: u32,
    ) -> Result<NewEvents, Error> {
        let newest = Statement::new("select coalesce(max(e.id), 0) from events e", Vec::new());
        let mut select = Select::new(COLUMNS);
        select
            .with("e.id > ", after, "")
            .equal("e.cluster_id", cluster.map(|id| id.0))
            .equal("e.category", Some(EventCategory::User.as_str()))
            .tail(" order by e.id desc limit ")
            .param(i64::from(limit));
        let mut answers = self.read_all(vec![newest, select.build()]).await?.into_iter();
        let mut answer = NewEvents::default();
        if let Some(row) = answers.next().unwrap_or_default().first() {
            answer.newest = row.int(0)?;
        }
        for mut row in answers.next().unwrap_or_default() {
            answer.events.push((row.int(10)?, read(&mut row)?));
        }
        answer.events.reverse();
        Ok(answer)
    }
}

fn conditions(select: &mut Select, query: &EventQuery) {
    let hosts = || query.host_ids.iter().map(|id| Value::Uuid(id.0));
    if let Some(cluster) = query.cluster_id {
        select
            .equal("e.cluster_id", Some(cluster.0))
            .when("exists (select 1 from clusters c where c.id = e.cluster_id)");
        let mut any = Vec::new();
        if query.deleted_hosts {
            any.push(
                "exists (select 1 from hosts h where h.host_id = e.host_id and h.deleted_at is not null \
                 and (e.infra_env_id is null or h.infra_env_id = e.infra_env_id))"
                    .to_owned(),
            );
        }
        if query.cluster_level {
            any.push("e.host_id is null".to_owned());
        }
        if !query.host_ids.is_empty() {
            any.push(select.list("e.host_id", hosts()));
        }
        if !any.is_empty() {
            select.when(&format!("({})", any.join(" or ")));
        }
        if let Some(part) = query.message.as_ref().filter(|part| !part.is_empty()) {
            select.with("lower(e.message) like ", like(part), " escape '\\'");
        }
    } else if let Some(infra_env) = query.infra_env_id.filter(|_| query.host_ids.is_empty()) {
        select
            .equal("e.infra_env_id", Some(infra_env.0))
            .when("exists (select 1 from infra_envs i where i.id = e.infra_env_id)");
    } else if !query.host_ids.is_empty() {
        select
            .one_of("e.host_id", hosts())
            .when("exists (select 1 from hosts h where h.host_id = e.host_id and h.deleted_at is null)");
    }
    let categories: &[_] =
        if query.categories.is_empty() { &[EventCategory::User] } else { &query.categories };
    select.one_of("e.category", categories.iter().map(|category| Value::Static(category.as_str())));
}

/// A pattern that finds a text anywhere, in lower case, its special characters taken literally.
fn like(part: &str) -> String {
    let mut pattern = String::with_capacity(part.len() + 2);
    pattern.push('%');
    for character in part.to_lowercase().chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

fn read(row: &mut Row) -> Result<Event, Error> {
    Ok(Event {
        name: row.take_text(0)?,
        severity: row.text(1)?.parse().map_err(Error::Corrupt)?,
        category: Some(row.text(2)?.parse().map_err(Error::Corrupt)?),
        cluster_id: row.optional_uuid(3)?.map(ClusterId),
        host_id: row.optional_uuid(4)?.map(HostId),
        infra_env_id: row.optional_uuid(5)?.map(InfraEnvId),
        request_id: row.optional_uuid(6)?,
        event_time: row.time(7)?.map_or(DateTime::ZERO, DateTime),
        message: row.take_text(8)?,
        props: row.take_text(9)?,
    })
}

/// An event always has a time; one outside of the years that nanoseconds reach is moved to their edge.
fn nanoseconds(at: Timestamp) -> Value {
    let edges = (i128::from(i64::MIN), i128::from(i64::MAX));
    Value::Int(i64::try_from(at.as_nanosecond().clamp(edges.0, edges.1)).unwrap_or_default())
}

fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
