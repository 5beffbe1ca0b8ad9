//! The time of the database, and rows out of a future that will not come.

use jiff::{SignedDuration, Timestamp};

use crate::batch::Batch;
use crate::error::{Error, WriteError};
use crate::statement::Statement;
use crate::store::{Reader, Store};
use crate::value::nanoseconds;

const NOW: &str = "select (extract(epoch from clock_timestamp()) * 1000000000)::bigint";

/// What no lease reaches, nor the wait of what failed, unless the clock was ahead when it was written.
const BEYOND: SignedDuration = SignedDuration::from_mins(2);

const HEARD: &str = "select count(*) from check_ins where at > $1";

const CHECK_INS: &str = "update check_ins set at = $1 where at > $1";

const LEASES: &str = "update due set lease_until = 0, lease_owner = null, at = $1 where lease_until > $2";

// When each would have been looked at was worked out with the wrong time.
const DUE: &str = "update due set at = $1 where at > $1 and lease_until = 0 and aside = 0";

const ACTIONS: &str = "update actions set at = $1 where at > $2 and aside = 0";

impl Reader {
    /// What the clock of the database's server tells; `None`: the database is a part of this process.
    pub async fn time(&self) -> Result<Option<Timestamp>, Error> {
        if !self.engine().is_shared() {
            return Ok(None);
        }
        self.read_one(Statement::new(NOW, Vec::new())).await?.map_or(Ok(None), |row| row.time(0))
    }

    /// How many hosts were heard later than now, by a margin: their check-ins were written when the clock was ahead.
    async fn heard_in_the_future(&self, now: Timestamp) -> Result<i64, Error> {
        let margin = now.saturating_add(BEYOND).unwrap_or(now);
        let row = self.read_one(Statement::new(HEARD, vec![margin.into()])).await?;
        row.map_or(Ok(0), |row| row.int(0))
    }
}

impl Store {
    /// Mends what was written while the clock was ahead by minutes, or by years: hosts seem to be alive that are long gone, work
    /// is under leases that do not end, or waits for a time that is far away. For a start. Gives the number of hosts that were
    /// heard in the future.
    pub async fn return_from_future(&self, now: Timestamp) -> Result<i64, WriteError> {
        let hosts = self.heard_in_the_future(now).await?;
        let beyond = now.saturating_add(BEYOND).unwrap_or(now);
        let mut batch = Batch::new();
        batch.push(Statement::new(LEASES, vec![nanoseconds(now), nanoseconds(beyond)]));
        batch.push(Statement::new(ACTIONS, vec![nanoseconds(now), nanoseconds(beyond)]));
        if hosts > 0 {
            batch.push(Statement::new(CHECK_INS, vec![now.into()]));
            batch.push(Statement::new(DUE, vec![nanoseconds(now)]));
        }
        self.write(batch).await?;
        Ok(hosts)
    }
}
