//! Messages for others, in the order in which they go out.
//!
//! Posting one happens in the transaction of the change that it tells of, so neither can be lost without the other, and makes
//! [`Due::Outbox`] due: whoever takes that sends what has been posted, and removes what was taken. A sender that dies between
//! the two has the next one send it again, under the same id.

use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use uuid::Uuid;

use crate::batch::Batch;
use crate::due_key::{Due, Sink};
use crate::error::{Error, WriteError};
use crate::statement::{Bulk, Column, Duplicates, Select, Statement};
use crate::store::{Reader, Store};
use crate::value::{Row, Value, nanoseconds};

/// A message that is to be posted.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub sink: Sink,
    pub id: Uuid,
    /// What it tells of.
    pub kind: &'static str,
    /// Messages of one cluster keep their order.
    pub cluster_id: Option<ClusterId>,
    /// JSON. It must hold no secret: it is stored as it is.
    pub body: String,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxMessage {
    /// Its place in the order.
    pub number: i64,
    pub id: Uuid,
    pub kind: String,
    pub cluster_id: Option<ClusterId>,
    /// When what it tells of happened.
    pub at: Timestamp,
    pub body: String,
    /// How often it was refused.
    pub attempts: u32,
}

/// What waits for a sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxState {
    /// Messages, those set aside apart.
    pub waiting: u64,
    /// Their bodies together, in bytes.
    pub bytes: u64,
    /// When what the first of them tells of happened.
    pub oldest: Option<Timestamp>,
    /// Messages that are set aside.
    pub aside: u64,
}

/// How much may wait for a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxLimits {
    pub messages: u64,
    pub bytes: u64,
    /// What happened before is too old.
    pub before: Timestamp,
}

const POST: &str = "insert into outbox (sink, message_id, kind, cluster_id, at, size, body, attempts, aside) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

static POST_BULK: Bulk = {
    use Column::{Int, Text, Uuid};
    Bulk {
        table: "outbox",
        columns: &[Text, Uuid, Text, Uuid, Int, Int, Text, Int, Int],
        duplicates: Duplicates::Sent,
    }
};

const WAITING: &str = "select id, message_id, kind, cluster_id, at, body, attempts from outbox \
     where sink = $1 and aside = 0 order by id limit $2";

const STATE: &str = "select count(*), cast(coalesce(sum(size), 0) as bigint), min(at) from outbox \
     where sink = $1 and aside = 0";

const ASIDE: &str = "select count(*) from outbox where sink = $1 and aside > 0";

const REFUSED: &str = "update outbox set attempts = attempts + 1, last_error = $2, aside = $3 where id = $1";

const RELEASE: &str = "update outbox set aside = 0, attempts = 0 where sink = $1 and aside > 0 returning id";

const TOO_OLD: &str = "delete from outbox where sink = $1 and at < $2 returning id";

const TOO_MANY: &str = "delete from outbox where sink = $1 and id <= \
     (select id from outbox where sink = $1 order by id desc limit 1 offset $2) returning id";

const TOO_LARGE: &str = "delete from outbox where id in (select id from \
     (select id, sum(size) over (order by id desc) as total from outbox where sink = $1) sums where total > cast($2 as bigint)) returning id";

impl Batch {
    /// Posts a message about something that happens at `at`, after those that were posted before.
    pub fn post(&mut self, message: NewMessage, at: Timestamp, now: Timestamp) -> &mut Self {
        let params = vec![
            message.sink.name().into(),
            message.id.into(),
            message.kind.into(),
            message.cluster_id.map(|id| id.0).into(),
            nanoseconds(at),
            i64::try_from(message.body.len()).unwrap_or(i64::MAX).into(),
            message.body.into(),
            0_i64.into(),
            0_i64.into(),
        ];
        self.push(Statement::new(POST, params).bulk(&POST_BULK)).mark_due(Due::Outbox(message.sink), now)
    }

    /// Removes messages that were taken.
    pub fn remove_messages(&mut self, numbers: &[i64]) -> &mut Self {
        if numbers.is_empty() {
            return self;
        }
        let mut delete = Select::new("delete from outbox");
        delete.one_of("id", numbers.iter().map(|number| Value::Int(*number)));
        self.push(delete.build())
    }

    /// Notes that a message was refused; from `aside` on it is left alone.
    ///
    /// The error is for people: it must hold no secret.
    pub fn refuse_message(&mut self, number: i64, error: String, aside: Option<Timestamp>) -> &mut Self {
        let aside = aside.map_or(Value::Int(0), nanoseconds);
        self.push(Statement::new(REFUSED, vec![number.into(), error.into(), aside]))
    }
}

impl Store {
    /// Has the messages that were set aside sent again, after which those of their cluster may have gone out already; how many
    /// there were.
    pub async fn release_messages(&self, sink: Sink) -> Result<u64, WriteError> {
        let rows = self.write_one(Statement::new(RELEASE, vec![sink.name().into()])).await?;
        Ok(rows.len() as u64)
    }

    /// Removes the oldest messages until what is left keeps to the limits; how many it removed.
    pub async fn trim_outbox(&self, sink: Sink, limits: OutboxLimits) -> Result<u64, WriteError> {
        let mut removed = 0;
        for (sql, limit) in [
            (TOO_OLD, nanoseconds(limits.before)),
            (TOO_MANY, Value::Int(i64::try_from(limits.messages).unwrap_or(i64::MAX))),
            (TOO_LARGE, Value::Int(i64::try_from(limits.bytes).unwrap_or(i64::MAX))),
        ] {
            let rows = self.write_one(Statement::new(sql, vec![sink.name().into(), limit])).await?;
            removed += rows.len() as u64;
        }
        Ok(removed)
    }
}

impl Reader {
    /// The first messages that wait for a sink, in order.
    pub async fn messages(&self, sink: Sink, limit: u32) -> Result<Vec<OutboxMessage>, Error> {
        let params = vec![sink.name().into(), i64::from(limit).into()];
        self.read(Statement::new(WAITING, params)).await?.iter_mut().map(message).collect()
    }

    /// What waits for a sink.
    pub async fn outbox_state(&self, sink: Sink) -> Result<OutboxState, Error> {
        let of = |sql| Statement::new(sql, vec![sink.name().into()]);
        let mut answers = self.read_all(vec![of(STATE), of(ASIDE)]).await?.into_iter();
        let (waiting, aside) = (answers.next().unwrap_or_default(), answers.next().unwrap_or_default());
        let number = |row: Option<&Row>, column| row.map_or(Ok(0), |row| row.int(column)).map(unsigned);
        let first = waiting.first();
        Ok(OutboxState {
            waiting: number(first, 0)?,
            bytes: number(first, 1)?,
            oldest: first.map_or(Ok(None), |row| row.time(2))?,
            aside: number(aside.first(), 0)?,
        })
    }
}

fn message(row: &mut Row) -> Result<OutboxMessage, Error> {
    Ok(OutboxMessage {
        number: row.int(0)?,
        id: row.uuid(1)?,
        kind: row.take_text(2)?,
        cluster_id: row.optional_uuid(3)?.map(ClusterId),
        at: row.time(4)?.unwrap_or_default(),
        body: row.take_text(5)?,
        attempts: u32::try_from(row.int(6)?).unwrap_or(u32::MAX),
    })
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
