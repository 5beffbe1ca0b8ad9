//! A poll: the agent checks in, and gets its next steps.

use assisted_base::error::chain;
use assisted_core::model::decision::HostChange;
use assisted_core::model::host::HostKey;
use assisted_core::state::host::check_in::{CheckInReport, check_in};
use assisted_store::{Batch, Due};
use bytes::Bytes;
use jiff::Timestamp;

use super::{Hosts, check_agent};
use crate::attempt::{AttemptError, attempt};
use crate::cache::memo::HostPollCache;
use crate::not_found::no_host;
use crate::{Caller, Error};

/// An agent's poll.
#[derive(Clone, Copy, Debug)]
pub struct Poll<'a> {
    pub host: HostKey,
    /// The host's clock, seconds since the Unix epoch; 0: not reported.
    pub timestamp: i64,
    /// Version of the agent that polls, if it reports one.
    pub agent_version: Option<&'a str>,
}

impl Hosts {
    /// What a host is told to do next: the JSON body of [`assisted_wire::step::Steps`].
    ///
    /// A poll that reports nothing new asks the database nothing.
    ///
    /// # Errors
    ///
    /// 404 when there is no such host, 409 when it is not the host's agent that polls.
    pub async fn get_next_steps(&self, caller: &Caller, poll: Poll<'_>) -> Result<Bytes, Error> {
        let now = self.database.now();
        let Some(mut memo) = attempt!(self.database, caller, self.memo(poll.host))? else {
            return Err(no_host(poll.host).into());
        };
        check_agent(memo.view.agent_key.as_deref(), caller)?;
        self.database.cache().check_ins.record(&memo.check_in, now);
        if may_have_changed(&memo, &poll, now) {
            attempt!(self.database, caller, Box::pin(self.commit_change(&poll, now)))?;
            match attempt!(self.database, caller, self.memo(poll.host))? {
                Some(anew) => memo = anew,
                None => return Err(no_host(poll.host).into()),
            }
        }
        self.follow_up(&memo, caller, now).await;
        memo.answer(now)
    }

    /// Writes what a poll reports besides being a sign of life.
    async fn commit_change(&self, poll: &Poll<'_>, now: Timestamp) -> Result<(), AttemptError> {
        let Some(mut work) = self.database.load_host_alone(poll.host).await? else {
            return Err(no_host(poll.host).into());
        };
        let reported = CheckInReport { agent_version: poll.agent_version, clock: poll.timestamp };
        let Some(record) = work.host(poll.host).and_then(|host| check_in(host, &reported, now)) else {
            return Ok(());
        };
        work.change_host(HostChange { key: poll.host, record: Some(record), reports: Vec::new() });
        work.mark_due();
        work.commit(&self.database).await?;
        Ok(())
    }

    /// What a poll brings about besides its answer. A failure costs nothing: the next poll comes.
    async fn follow_up(&self, memo: &HostPollCache, caller: &Caller, now: Timestamp) {
        let mut batch = Batch::new();
        if memo.view.wakes_on_check_in {
            batch.mark_due(memo.cluster_id.map_or(Due::Host(memo.view.key), Due::Cluster), now);
        }
        let events = memo.view.event.as_slice();
        if batch.is_empty() && events.is_empty() {
            return;
        }
        let committed = Box::pin(self.database.commit(batch, events, Some(caller.request_id), now)).await;
        if let Err(error) = committed {
            tracing::warn!(error = %chain(&error), "what follows from a poll is not written");
        }
    }
}

/// Whether a poll may report what is not stored; the domain decides once more.
fn may_have_changed(memo: &HostPollCache, poll: &Poll<'_>, now: Timestamp) -> bool {
    let version = poll
        .agent_version
        .is_some_and(|reported| !reported.is_empty() && reported != memo.view.discovery_agent_version);
    let clock = poll.timestamp != 0 && {
        let ahead = poll.timestamp.saturating_sub(now.as_second());
        memo.view.clock_ahead_seconds.is_none_or(|known| known.abs_diff(ahead) > CLOCK_JITTER)
    };
    version || clock
}

/// The domain's own limit lies no lower, so nothing it wants to know is missed.
const CLOCK_JITTER: u64 = 5;
