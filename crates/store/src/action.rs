//! What is to be done outside, as the domain asked for it.
//!
//! Asking happens in the transaction of the change that wants it, so neither can be lost without the other. A worker takes
//! an action under a lease; when it dies, the lease runs out and the action is done again. Of each cluster only the action
//! that was asked for first is given out.

use assisted_core::model::action::Action;
use assisted_wire::id::ClusterId;
use jiff::{SignedDuration, Timestamp};

use crate::batch::Batch;
use crate::error::{Error, WriteError};
use crate::statement::Statement;
use crate::store::{Reader, Store};
use crate::subject::Subject;
use crate::value::{Row, Value, nanoseconds};

/// An action that is not done yet.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedAction {
    id: i64,
    pub action: Action,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// How often it was begun.
    pub attempts: u32,
    /// What the last attempt failed with.
    pub last_error: Option<String>,
    /// Whether it is set aside.
    pub is_aside: bool,
}

const ASK: &str = "insert into actions (cluster_id, asked_at, at, attempts, doc) values ($1, $2, $2, 0, $3)";

// A worker's own lease is its `attempts`: whoever takes the action after it counts one more.
const TAKE: &str = "with picked as materialized (select id from actions where at <= $1 and not exists \
     (select 1 from actions first where first.cluster_id = actions.cluster_id and first.id < actions.id) \
     order by at, id limit $2 for update skip locked) \
     update actions set at = $3, lease_owner = $4, attempts = attempts + 1 from picked where actions.id = picked.id \
     returning actions.id, actions.asked_at, actions.attempts, actions.last_error, actions.doc, actions.aside";

const KEEP: &str = "update actions set at = $3 where id = $1 and attempts = $2";

const FINISH: &str = "delete from actions where id = $1 and attempts = $2";

const FAIL: &str =
    "update actions set at = $3, lease_owner = null, last_error = $4 where id = $1 and attempts = $2";

const SET_ASIDE: &str = "update actions set at = $3, lease_owner = null, last_error = $4, aside = $5 \
     where id = $1 and attempts = $2";

// `attempts` is the lease of whoever has it: it only ever grows.
const RELEASE: &str =
    "update actions set aside = 0, at = $2 where id = $1 and aside > 0 returning cluster_id";

const GIVE_BACK: &str = "update actions set at = $3, lease_owner = null where id = $1 and attempts = $2";

pub(crate) const FREE: &str = "update actions set at = $1, lease_owner = null where lease_owner is not null";

const NEXT: &str = "select min(at) from actions where not exists \
     (select 1 from actions first where first.cluster_id = actions.cluster_id and first.id < actions.id)";

const WAITING: &str = "select count(*) from actions where (at <= $1 or lease_owner is not null) and not exists \
     (select 1 from actions first where first.cluster_id = actions.cluster_id and first.id < actions.id)";

const OF_CLUSTER: &str =
    "select id, asked_at, attempts, last_error, doc, aside from actions where cluster_id = $1 order by id";

impl Batch {
    /// Asks for an action, after those that were asked for the same cluster before.
    pub fn enqueue(&mut self, action: &Action, now: Timestamp) -> &mut Self {
        let cluster_id = action.cluster_id();
        let doc = self.document(action);
        let params = vec![cluster_id.0.into(), nanoseconds(now), doc.into()];
        self.push(Statement::new(ASK, params)).touch(Subject::Actions(cluster_id))
    }

    /// An action is done. A conflict when the lease ran out and another worker has it.
    pub fn finish_action(&mut self, queued_action: &QueuedAction) -> &mut Self {
        let subject = queued_action.subject();
        // Touched, for the next action of the cluster is free now.
        self.push(Statement::guarded(FINISH, queued_action.lease(), subject)).touch(subject)
    }

    /// Gives a failed action back, to be tried again at `retry_at`. A conflict as above.
    ///
    /// The error is for people: it must hold no secret.
    pub fn fail_action(
        &mut self,
        queued_action: &QueuedAction,
        error: impl Into<String>,
        retry_at: Timestamp,
    ) -> &mut Self {
        let mut params = queued_action.lease();
        params.extend([nanoseconds(retry_at), error.into().into()]);
        self.push(Statement::guarded(FAIL, params, queued_action.subject()))
    }

    /// Sets a failed action aside: it is done again at `retry_at`, or once it is released. Later actions of the same cluster
    /// wait for it. A conflict as above.
    ///
    /// The error is for people: it must hold no secret.
    pub fn set_action_aside(
        &mut self,
        queued_action: &QueuedAction,
        error: impl Into<String>,
        now: Timestamp,
        retry_at: Timestamp,
    ) -> &mut Self {
        let mut params = queued_action.lease();
        params.extend([nanoseconds(retry_at), error.into().into(), nanoseconds(now)]);
        self.push(Statement::guarded(SET_ASIDE, params, queued_action.subject()))
    }

    /// Gives back an action that nothing failed of, to be done by another worker. A conflict as above.
    pub fn give_action_back(&mut self, queued_action: &QueuedAction, now: Timestamp) -> &mut Self {
        let subject = queued_action.subject();
        let mut params = queued_action.lease();
        params.push(nanoseconds(now));
        self.push(Statement::guarded(GIVE_BACK, params, subject)).touch(subject)
    }
}

impl Store {
    /// Takes up to `limit` actions that are to be done at `now`, for the time of `lease`.
    ///
    /// `owner` is for people who look into the table.
    pub async fn take_actions(
        &self,
        owner: &str,
        now: Timestamp,
        limit: u32,
        lease: SignedDuration,
    ) -> Result<Vec<QueuedAction>, WriteError> {
        let until = now.checked_add(lease).unwrap_or(Timestamp::MAX);
        let params =
            vec![nanoseconds(now), i64::from(limit).into(), nanoseconds(until), owner.to_owned().into()];
        let rows = self.write_one(Statement::new(TAKE, params)).await?;
        Ok(rows.iter().map(queued_action).collect::<Result<_, _>>()?)
    }

    /// Makes an action that was set aside due at once; false when there is none.
    pub async fn release_action(
        &self,
        cluster_id: ClusterId,
        id: i64,
        now: Timestamp,
    ) -> Result<bool, WriteError> {
        let statement = Statement::new(RELEASE, vec![id.into(), nanoseconds(now)]);
        let rows = self.write_one_touching(statement, Subject::Actions(cluster_id)).await?;
        Ok(!rows.is_empty())
    }

    /// Keeps an action for longer. A conflict when the lease ran out and another worker has it.
    pub async fn keep_action(
        &self,
        queued_action: &QueuedAction,
        until: Timestamp,
    ) -> Result<(), WriteError> {
        let mut params = queued_action.lease();
        params.push(nanoseconds(until));
        self.write_one(Statement::guarded(KEEP, params, queued_action.subject())).await.map(drop)
    }
}

impl Reader {
    /// When an action is next to be done, leases included; `None`: there is none. May lie in the past.
    pub async fn next_action_at(&self) -> Result<Option<Timestamp>, Error> {
        self.read_one(Statement::new(NEXT, Vec::new())).await?.map_or(Ok(None), |row| row.time(0))
    }

    /// Whether an action is being done, or is to be done at `now`.
    pub(crate) async fn has_actions(&self, now: Timestamp) -> Result<bool, Error> {
        let waiting = self.read_one(Statement::new(WAITING, vec![nanoseconds(now)])).await?;
        Ok(waiting.map_or(Ok(0), |row| row.int(0))? > 0)
    }

    /// What is still to be done for a cluster, in order.
    pub async fn actions(&self, cluster_id: ClusterId) -> Result<Vec<QueuedAction>, Error> {
        let rows = self.read(Statement::new(OF_CLUSTER, vec![cluster_id.0.into()])).await?;
        rows.iter().map(queued_action).collect()
    }
}

impl QueuedAction {
    /// The id of the action.
    pub fn id(&self) -> i64 {
        self.id
    }

    fn subject(&self) -> Subject {
        Subject::Actions(self.action.cluster_id())
    }

    fn lease(&self) -> Vec<Value> {
        vec![self.id.into(), i64::from(self.attempts).into()]
    }
}

fn queued_action(row: &Row) -> Result<QueuedAction, Error> {
    Ok(QueuedAction {
        id: row.int(0)?,
        asked_at: row.time(1)?.unwrap_or_default(),
        attempts: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
        last_error: row.optional_text(3)?.map(ToOwned::to_owned),
        action: row.document(4)?,
        is_aside: row.int(5)? > 0,
    })
}
