//! Work that is due: the one scheduler.
//!
//! A row says that something must be looked at, and when. Marking it happens in the transaction of the change that made
//! it due, so neither can be lost without the other. A worker takes rows under a lease; when it dies, the lease runs out
//! and the row is due again.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::action;
use crate::batch::Batch;
use crate::due_key::Due;
use crate::error::{Error, WriteError};
use crate::statement::{Bulk, Column, Duplicates, Statement};
use crate::store::{Reader, Store};
use crate::subject::Subject;
use crate::value::{Row, Value, nanoseconds};

impl Due {
    fn params(self) -> Vec<Value> {
        vec![self.what().into(), self.key().into()]
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
    marks: MarkCount,
    takes: i64,
}

impl LeasedItem {
    /// How often it had been marked when it was taken.
    pub fn marks(&self) -> MarkCount {
        self.marks
    }
}

/// How often a row had been marked due when it was read: the same number twice means that nobody marked it in between.
///
/// Counting begins anywhere, so that a row that was deleted and made anew is not taken for the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkCount(i64);

impl MarkCount {
    fn first() -> Self {
        let (high, _) = Uuid::new_v4().as_u64_pair();
        Self(i64::from(u32::try_from(high >> 32).unwrap_or_default()) + 1)
    }
}

// A mark leaves a row that is set aside where it is, but is counted. The earliest time wins. While a lease runs, `at` is its end:
// a mark may pull it forward, but nobody takes the row before the lease ends or is given back.
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

// What only a newer program knows is left to it. SQLite would look up the kinds in the primary key, and read and sort all rows of each of
// them; an expression is in no index, so it goes by time, as far as rows are wanted.
macro_rules! known {
    () => {
        "what || '' in ('cluster', 'host', 'sweep', 'outbox', 'upload')"
    };
}

const TAKE: &str = concat!(
    "with picked as materialized (select what, key from due where at <= $1 and lease_until <= $1 and ",
    known!(),
    " order by at limit $2 for update skip locked) \
     update due set at = $3, lease_until = $3, lease_owner = $4, takes = takes + 1, attempts = attempts + 1 \
     from picked where due.what = picked.what and due.key = picked.key \
     returning due.what, due.key, due.attempts, due.last_error, due.marks, due.takes, due.aside"
);

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

// The first row that is free bounds what has to be read: before it are only those that were pulled forward under a lease.
const NEXT: &str = concat!(
    "select min(case when lease_until > at then lease_until else at end) from due where ",
    known!(),
    " and at <= coalesce((select at from due where lease_until <= at and ",
    known!(),
    " order by at limit 1), 9223372036854775807)"
);

// What a lease had pushed away is due at once.
const FREE: &str = "update due set at = case when at < $1 then at else $1 end, lease_until = 0, lease_owner = null \
     where lease_owner is not null";

const WAITING: &str = "select count(*) from due where at <= $1 or lease_until > 0";

impl Batch {
    /// Makes something due at a time, or earlier if it was; work that is under way will be done again.
    pub fn mark_due(&mut self, due: Due, at: Timestamp) -> &mut Self {
        let mut params = due.params();
        params.extend([nanoseconds(at), MarkCount::first().0.into()]);
        self.push(Statement::new(MARK, params).bulk(&MARK_BULK)).touch(Subject::Due(due))
    }

    /// Makes what was just decided about due again at `next`, or at `now` if somebody marked it since `seen` was read:
    /// what they wrote may touch no row that the decision writes, so that neither of the two knows of the other.
    pub fn mark_decided(
        &mut self,
        due: Due,
        seen: Option<MarkCount>,
        next: Timestamp,
        now: Timestamp,
    ) -> &mut Self {
        let mut params = due.params();
        params.extend([
            nanoseconds(if seen.is_none() { next } else { now }),
            MarkCount::first().0.into(),
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
        for statement in free(now) {
            batch.push(statement);
        }
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

/// What frees everything that somebody has taken.
pub(crate) fn free(now: Timestamp) -> [Statement; 2] {
    [FREE, action::FREE].map(|sql| Statement::new(sql, vec![nanoseconds(now)]))
}

/// Asks how often something has been marked due.
pub(crate) fn select_marks(due: Due) -> Statement {
    Statement::new(MARKS, due.params())
}

/// The answer to [`select_marks`]; `None`: it is not in the table.
pub(crate) fn read_marks(rows: &[Row]) -> Result<Option<MarkCount>, Error> {
    rows.first().map(|row| row.int(0).map(MarkCount)).transpose()
}

fn taken(row: &Row) -> Result<LeasedItem, Error> {
    let due = Due::parse(row.text(0)?, row.text(1)?)
        .ok_or_else(|| Error::Corrupt("a row of due work has no key".to_owned()))?;
    Ok(LeasedItem {
        due,
        attempts: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
        last_error: row.optional_text(3)?.map(ToOwned::to_owned),
        marks: MarkCount(row.int(4)?),
        takes: row.int(5)?,
        is_aside: row.int(6)? > 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plan;

    #[test]
    fn what_is_due_is_found_by_time_however_much_waits() {
        for sql in [TAKE, NEXT] {
            let plan = plan(sql);
            assert!(plan.iter().any(|step| step.contains("due USING INDEX due_at")), "{plan:#?}");
            assert!(plan.iter().all(|step| !step.contains("TEMP B-TREE")), "{plan:#?}");
        }
    }
}
