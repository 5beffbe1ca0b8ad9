//! Work that is due: the one scheduler.
//!
//! A row says that something must be looked at, and when. Marking it happens in the transaction of the change that made
//! it due, so neither can be lost without the other. A worker takes rows under a lease; when it dies, the lease runs out
//! and the row is due again.

use std::fmt;
use std::str::FromStr;

use assisted_core::model::host::HostKey;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::action;
use crate::batch::Batch;
use crate::error::{Error, WriteError};
use crate::statement::{Bulk, Column, Duplicates, Statement};
use crate::store::{Reader, Store};
use crate::subject::Subject;
use crate::value::{Row, Value};

/// What is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Due {
    /// A cluster with all its hosts.
    Cluster(ClusterId),
    /// A host without a cluster.
    Host(HostKey),
    /// What was kept long enough.
    Sweep(Sweep),
}

/// What is swept out from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sweep {
    /// Clusters that nobody touches.
    InactiveClusters,
    /// Clusters and hosts that were deregistered.
    Deregistered,
    /// Infra-envs that nobody touches, with their hosts.
    UnusedInfraEnvs,
}

const CLUSTER: &str = "cluster";
const HOST: &str = "host";
const SWEEP: &str = "sweep";

impl Sweep {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::InactiveClusters, Self::Deregistered, Self::UnusedInfraEnvs];

    /// How it is called, in the table and by people.
    pub fn name(self) -> &'static str {
        match self {
            Self::InactiveClusters => "inactive-clusters",
            Self::Deregistered => "deregistered",
            Self::UnusedInfraEnvs => "unused-infra-envs",
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
        }
    }
}

impl Due {
    fn what(self) -> &'static str {
        match self {
            Self::Cluster(_) => CLUSTER,
            Self::Host(_) => HOST,
            Self::Sweep(_) => SWEEP,
        }
    }

    fn params(self) -> Vec<Value> {
        let key = match self {
            Self::Cluster(id) => id.0.simple().to_string(),
            Self::Host(key) => format!("{}{}", key.infra_env_id.0.simple(), key.host_id.0.simple()),
            Self::Sweep(sweep) => sweep.name().to_owned(),
        };
        vec![self.what().into(), key.into()]
    }

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
            _ => None,
        }
    }
}

/// Due work under a lease, to be given back by [`Batch::finish_due`] or [`Batch::fail_due`].
#[derive(Clone, Debug, PartialEq)]
pub struct LeasedItem {
    pub due: Due,
    /// How often it was taken since it last was finished, this time included.
    pub attempts: u32,
    /// What the last attempt failed with.
    pub last_error: Option<String>,
    /// Whether it had been set aside.
    pub is_aside: bool,
    marks: Marks,
    takes: i64,
}

impl LeasedItem {
    /// How often it had been marked when it was taken.
    pub fn marks(&self) -> Marks {
        self.marks
    }
}

/// How often a row had been marked due when it was read: the same number twice means that nobody marked it in between.
///
/// Counting begins anywhere, so that a row that was deleted and made anew is not taken for the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks(i64);

impl Marks {
    fn first() -> Self {
        let (high, _) = Uuid::new_v4().as_u64_pair();
        Self(i64::from(u32::try_from(high >> 32).unwrap_or_default()) + 1)
    }
}

// What is set aside is left alone by marks, but they are counted. The earliest time wins. While a lease runs, `at` is its end: a mark may pull it forward, but nobody takes the row
// before the lease ends or is given back.
const MARK: &str = "insert into due (what, key, at, marks, takes, attempts, lease_until) values ($1, $2, $3, $4, 0, 0, 0) \
     on conflict (what, key) do update set marks = due.marks + 1, \
     at = case when due.aside = 0 and excluded.at < due.at then excluded.at else due.at end";

static MARK_BULK: Bulk = Bulk {
    table: "due",
    columns: &[Column::Text, Column::Text, Column::Int, Column::Int],
    duplicates: Duplicates::Least(2),
};

// A row that is gone was marked and looked at meanwhile, unless there was none before.
const MARK_DECIDED: &str = "insert into due (what, key, at, marks, takes, attempts, lease_until) \
     values ($1, $2, $3, $4, 0, 0, 0) on conflict (what, key) do update set marks = due.marks + 1, \
     at = case when due.aside > 0 then due.at when due.marks = $5 then case when $6 < due.at then $6 else due.at end \
     when $7 < due.at then $7 else due.at end";

const MARKS: &str = "select marks from due where what = $1 and key = $2";

const CLEAR: &str = "delete from due where what = $1 and key = $2";

// What only a newer program knows is left to it.
const TAKE: &str = "with picked as materialized (select what, key from due where at <= $1 and lease_until <= $1 \
     and what in ('cluster', 'host', 'sweep') order by at limit $2 for update skip locked) \
     update due set at = $3, lease_until = $3, lease_owner = $4, takes = takes + 1, attempts = attempts + 1 \
     from picked where due.what = picked.what and due.key = picked.key \
     returning due.what, due.key, due.attempts, due.last_error, due.marks, due.takes, due.aside";

const FINISH: &str = "delete from due where what = $1 and key = $2 and takes = $3 and marks = $4";

const FINISH_AGAIN: &str = "update due set lease_until = 0, lease_owner = null, attempts = 0, last_error = null, aside = 0 \
     where what = $1 and key = $2 and takes = $3";

const FINISH_UNTIL: &str = "update due set lease_until = 0, lease_owner = null, attempts = 0, last_error = null, aside = 0, \
     at = case when marks = $4 or $5 < at then $5 else at end where what = $1 and key = $2 and takes = $3";

static FINISH_UNTIL_BULK: Bulk = Bulk {
    table: "due",
    columns: &[Column::Text, Column::Text, Column::Int, Column::Int, Column::Int],
    duplicates: Duplicates::Sent,
};

const FAIL: &str = "update due set lease_until = 0, lease_owner = null, last_error = $6, \
     at = case when marks = $4 or $5 < at then $5 else at end where what = $1 and key = $2 and takes = $3";

// `at` keeps what a mark has pulled forward.
const KEEP: &str =
    "update due set lease_until = $4 where what = $1 and key = $2 and takes = $3 and lease_until > 0";

const SET_ASIDE: &str = "update due set lease_until = 0, lease_owner = null, last_error = $5, at = $4, aside = $6 \
     where what = $1 and key = $2 and takes = $3";

const RELEASE: &str = "update due set aside = 0, attempts = 0, at = $3 where what = $1 and key = $2 and aside > 0 returning what";

const NEXT: &str = "select min(case when lease_until > at then lease_until else at end) \
     from (select at, lease_until from due where what in ('cluster', 'host', 'sweep') order by at limit 256) first";

// What a lease had pushed away is due at once.
const FREE: &str = "update due set at = case when at < $1 then at else $1 end, lease_until = 0, lease_owner = null \
     where lease_owner is not null";

const WAITING: &str = "select count(*) from due where at <= $1 or lease_until > 0";

impl Batch {
    /// Makes something due at a time, or earlier if it was; work that is under way will be done again.
    pub fn mark_due(&mut self, due: Due, at: Timestamp) -> &mut Self {
        let mut params = due.params();
        params.extend([nanoseconds(at), Marks::first().0.into()]);
        self.push(Statement::new(MARK, params).bulk(&MARK_BULK)).touch(Subject::Due(due))
    }

    /// Makes what was just decided about due again at `next`, or at `now` if somebody marked it since `seen` was read:
    /// what they wrote may touch no row that the decision writes, so that neither of the two knows of the other.
    pub fn mark_decided(
        &mut self,
        due: Due,
        seen: Option<Marks>,
        next: Timestamp,
        now: Timestamp,
    ) -> &mut Self {
        let mut params = due.params();
        params.extend([
            nanoseconds(if seen.is_none() { next } else { now }),
            Marks::first().0.into(),
            // No row counts like this.
            seen.map_or(0, |seen| seen.0).into(),
            nanoseconds(next),
            nanoseconds(now),
        ]);
        self.push(Statement::new(MARK_DECIDED, params)).touch(Subject::Due(due))
    }

    /// Forgets due work: its object is gone.
    pub fn clear_due(&mut self, due: Due) -> &mut Self {
        self.push(Statement::new(CLEAR, due.params()))
    }

    /// Gives finished work back; it is next due at `next_at`, or earlier if it was marked meanwhile.
    ///
    /// Has no effect when the lease ran out and another worker has the work.
    pub fn finish_due(&mut self, taken: &LeasedItem, next_at: Option<Timestamp>) -> &mut Self {
        let mut params = taken.due.params();
        params.push(taken.takes.into());
        match next_at {
            Some(at) => {
                params.extend([taken.marks.0.into(), nanoseconds(at)]);
                self.push(Statement::new(FINISH_UNTIL, params).bulk(&FINISH_UNTIL_BULK))
            }
            None => {
                let again = params.clone();
                params.push(taken.marks.0.into());
                self.push(Statement::new(FINISH, params)).push(Statement::new(FINISH_AGAIN, again))
            }
        }
    }

    /// Gives failed work back, to be tried again at `retry_at`, or earlier if it was marked meanwhile.
    ///
    /// The error is for people: it must hold no secret.
    pub fn fail_due(
        &mut self,
        taken: &LeasedItem,
        error: impl Into<String>,
        retry_at: Timestamp,
    ) -> &mut Self {
        let mut params = taken.due.params();
        params.extend([taken.takes.into(), taken.marks.0.into(), nanoseconds(retry_at), error.into().into()]);
        self.push(Statement::new(FAIL, params))
    }

    /// Sets failed work aside: it is taken again at `retry_at`, whatever changes, or once it is released.
    ///
    /// The error is for people: it must hold no secret.
    pub fn set_due_aside(
        &mut self,
        taken: &LeasedItem,
        error: impl Into<String>,
        now: Timestamp,
        retry_at: Timestamp,
    ) -> &mut Self {
        let mut params = taken.due.params();
        params.extend([taken.takes.into(), nanoseconds(retry_at), error.into().into(), nanoseconds(now)]);
        self.push(Statement::new(SET_ASIDE, params))
    }
}

impl Store {
    /// Keeps work for longer; false when the lease ran out and another worker has it.
    pub async fn keep_due(&self, taken: &LeasedItem, until: Timestamp) -> Result<bool, WriteError> {
        let mut params = taken.due.params();
        params.extend([taken.takes.into(), nanoseconds(until)]);
        match self.write_one(Statement::guarded(KEEP, params, Subject::Due(taken.due))).await {
            Ok(_) => Ok(true),
            Err(WriteError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes work that was set aside due at once; false when there is none.
    pub async fn release_due(&self, due: Due, now: Timestamp) -> Result<bool, WriteError> {
        let mut params = due.params();
        params.push(nanoseconds(now));
        let rows = self.write_one_touching(Statement::new(RELEASE, params), Subject::Due(due)).await?;
        Ok(!rows.is_empty())
    }

    /// Takes up to `limit` rows that are due at `now`, the longest due first, for the time of `lease`.
    ///
    /// `owner` is for people who look into the table.
    pub async fn take_due(
        &self,
        owner: &str,
        now: Timestamp,
        limit: u32,
        lease: SignedDuration,
    ) -> Result<Vec<LeasedItem>, WriteError> {
        let until = now.checked_add(lease).unwrap_or(Timestamp::MAX);
        let params =
            vec![nanoseconds(now), i64::from(limit).into(), nanoseconds(until), owner.to_owned().into()];
        let rows = self.write_one(Statement::new(TAKE, params)).await?;
        Ok(rows.iter().map(taken).collect::<Result<_, _>>()?)
    }

    /// Frees the due work and the actions that a process had taken which died, where it is known that it did: SQLite has
    /// one process at a time. Elsewhere leases run out.
    pub async fn free_leases(&self, now: Timestamp) -> Result<(), WriteError> {
        if self.engine().is_shared() {
            return Ok(());
        }
        let mut batch = Batch::new();
        batch.push(Statement::new(FREE, vec![nanoseconds(now)]));
        batch.push(Statement::new(action::FREE, vec![nanoseconds(now)]));
        self.write(batch).await
    }
}

impl Reader {
    /// When work is next due, leases included; `None`: never. May lie in the past.
    pub async fn next_due_at(&self) -> Result<Option<Timestamp>, Error> {
        self.read_one(Statement::new(NEXT, Vec::new())).await?.map_or(Ok(None), |row| row.time(0))
    }

    /// Whether nobody is at work, and at `now` there is nothing to work on or to do.
    pub async fn is_idle(&self, now: Timestamp) -> Result<bool, Error> {
        let waiting = self.read_one(Statement::new(WAITING, vec![nanoseconds(now)])).await?;
        let idle = waiting.map_or(Ok(0), |row| row.int(0))? == 0;
        Ok(idle && !self.has_actions(now).await?)
    }
}

/// Asks how often something has been marked due.
pub(crate) fn select_marks(due: Due) -> Statement {
    Statement::new(MARKS, due.params())
}

/// The answer to [`select_marks`]; `None`: it is not in the table.
pub(crate) fn read_marks(rows: &[Row]) -> Result<Option<Marks>, Error> {
    rows.first().map(|row| row.int(0).map(Marks)).transpose()
}

fn taken(row: &Row) -> Result<LeasedItem, Error> {
    let due = Due::parse(row.text(0)?, row.text(1)?)
        .ok_or_else(|| Error::Corrupt("a row of due work has no key".to_owned()))?;
    Ok(LeasedItem {
        due,
        attempts: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
        last_error: row.optional_text(3)?.map(ToOwned::to_owned),
        marks: Marks(row.int(4)?),
        takes: row.int(5)?,
        is_aside: row.int(6)? > 0,
    })
}

/// A time that can be compared; what nanoseconds can't reach is the edge of what they can.
pub(crate) fn nanoseconds(at: Timestamp) -> Value {
    let at = at.as_nanosecond().clamp(1, i128::from(i64::MAX));
    Value::Int(i64::try_from(at).unwrap_or(i64::MAX))
}
