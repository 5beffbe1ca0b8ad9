//! What is due, under way or set aside: due work and actions together, for people.

use assisted_core::model::action::Action;
use assisted_wire::id::ClusterId;
use jiff::Timestamp;

use crate::due_key::Due;
use crate::error::Error;
use crate::statement::Statement;
use crate::store::Reader;
use crate::value::{Row, nanoseconds};

/// What a row of work is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkKey {
    Due(Due),
    /// An action of a cluster, by its number.
    Action {
        id: i64,
        cluster_id: ClusterId,
    },
}

/// Where a row of work stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkState {
    /// It failed again and again, and is left alone until it is released, or until its next time.
    SetAside,
    /// A worker has it.
    Running,
    /// It is due, and no worker has it yet.
    Queued,
    /// It is due later.
    Waiting,
}

/// A row of work.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRow {
    pub key: WorkKey,
    pub state: WorkState,
    /// What is to be done; `None`: its object is to be looked at.
    pub action: Option<Action>,
    /// How often it was begun since it was last finished.
    pub attempts: u32,
    /// What the last attempt failed with.
    pub last_error: Option<String>,
    /// When it is next due; for one that runs, when its lease ends.
    pub next_at: Timestamp,
    /// Who has it.
    pub owner: Option<String>,
}

// First what somebody should see: rows set aside, under way, failing; then by time.
const DUE: &str = "select what, key, at, lease_until, lease_owner, attempts, last_error, aside from due \
     order by case when aside > 0 then 0 when lease_until > $1 then 1 when last_error is not null then 2 else 3 end, \
     at, what, key limit $2";

const ACTIONS: &str = "select id, cluster_id, at, lease_owner, attempts, last_error, aside, doc from actions \
     order by case when aside > 0 then 0 when lease_owner is not null then 1 when last_error is not null then 2 else 3 end, \
     at, id limit $1";

impl Reader {
    /// Rows of work, at most `limit` of each kind: those set aside first, then those that run, those that failed, and the
    /// others in the order in which they are due. Actions stand before due work of the same state.
    pub async fn work(&self, now: Timestamp, limit: u32) -> Result<Vec<WorkRow>, Error> {
        let limit = i64::from(limit);
        let actions = Statement::new(ACTIONS, vec![limit.into()]);
        let due = Statement::new(DUE, vec![nanoseconds(now), limit.into()]);
        let mut answers = self.read_all(vec![actions, due]).await?.into_iter();
        let (actions, due) = (answers.next().unwrap_or_default(), answers.next().unwrap_or_default());
        let actions = actions.iter().map(|row| action(row, now));
        // What only a newer program knows is left to it.
        let due = due.iter().filter_map(|row| of_due(row, now).transpose());
        let mut rows = actions.chain(due).collect::<Result<Vec<_>, _>>()?;
        rows.sort_by_key(|row| (row.state, row.last_error.is_none()));
        Ok(rows)
    }
}

fn of_due(row: &Row, now: Timestamp) -> Result<Option<WorkRow>, Error> {
    let Some(due) = Due::parse(row.text(0)?, row.text(1)?) else { return Ok(None) };
    let at = row.time(2)?.unwrap_or_default();
    let leased_until = row.time(3)?.filter(|until| *until > now && *until > Timestamp::UNIX_EPOCH);
    Ok(Some(WorkRow {
        key: WorkKey::Due(due),
        state: state(row.int(7)? > 0, leased_until.is_some(), at, now),
        action: None,
        attempts: count(row.int(5)?),
        last_error: row.optional_text(6)?.map(ToOwned::to_owned),
        next_at: leased_until.unwrap_or(at),
        owner: row.optional_text(4)?.map(ToOwned::to_owned),
    }))
}

fn action(row: &Row, now: Timestamp) -> Result<WorkRow, Error> {
    let at = row.time(2)?.unwrap_or_default();
    let owner = row.optional_text(3)?.map(ToOwned::to_owned);
    Ok(WorkRow {
        key: WorkKey::Action { id: row.int(0)?, cluster_id: ClusterId(row.uuid(1)?) },
        state: state(row.int(6)? > 0, owner.is_some() && at > now, at, now),
        action: Some(row.document(7)?),
        attempts: count(row.int(4)?),
        last_error: row.optional_text(5)?.map(ToOwned::to_owned),
        next_at: at,
        owner,
    })
}

fn state(aside: bool, leased: bool, at: Timestamp, now: Timestamp) -> WorkState {
    match (aside, leased) {
        (_, true) => WorkState::Running,
        (true, false) => WorkState::SetAside,
        (false, false) if at <= now => WorkState::Queued,
        (false, false) => WorkState::Waiting,
    }
}

fn count(attempts: i64) -> u32 {
    u32::try_from(attempts).unwrap_or(u32::MAX)
}
