//! A host answers a step (agent-protocol §2.3).

use std::sync::Arc;

use assisted_core::decide::host::reply::{ReplyEffect, reply};
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;
use assisted_wire::step::{StepReply, StepType};

use super::{Hosts, check_agent};
use crate::attempt::{AttemptError, attempt};
use crate::cache::memo::HostPollCache;
use crate::not_found::no_host;
use crate::off_thread::{LONG, off_thread_if};
use crate::{Caller, Error};

const TOO_MUCH: &str = "The host has sent more than it may within a minute (MAX_REPLY_BYTES_PER_SECOND). \
     What it sends after the time in Retry-After is read again";

impl Hosts {
    /// Asked before an answer is read: whether it may be. Whoever it is that answers, so that not even that has to be looked up.
    ///
    /// # Errors
    ///
    /// 503 when the host has sent more than it may within a minute, with the time that it has to wait.
    pub fn ensure_reply_budget(&self, host: HostKey) -> Result<(), Error> {
        match self.database.cache().check_ins.wait_of_replies(host, self.database.now()) {
            Some(wait) => Err(Refusal::unavailable_for(wait, TOO_MUCH).into()),
            None => Ok(()),
        }
    }

    /// Takes in what a host answers. The same answer once more asks the database nothing.
    ///
    /// # Errors
    ///
    /// 404 when there is no such host, 409 when it is not the host's agent that answers, 400 when the answer can't be read, 500 when it makes no sense in the host's state.
    pub async fn post_step_reply(
        &self,
        caller: &Caller,
        host: HostKey,
        reply: StepReply,
    ) -> Result<(), Error> {
        // A view from before the reading: one that was made after it may be of a host that has begun anew meanwhile, and must
        // not learn what was known of the old one.
        let memo = self.database.cache().hosts.get(&host).ok();
        if let Some(memo) = memo.as_ref().filter(|memo| memo.is_unchanged(&reply)) {
            check_agent(memo.view.agent_key.as_deref(), caller)?;
            self.database.cache().check_ins.record(&memo.check_in, self.database.now());
            return Ok(());
        }
        let reply = Arc::new(reply);
        attempt!(self.database, caller, self.try_reply(caller, host, memo.as_deref(), &reply))
    }

    async fn try_reply(
        &self,
        caller: &Caller,
        key: HostKey,
        memo: Option<&HostPollCache>,
        answer: &Arc<StepReply>,
    ) -> Result<(), AttemptError> {
        let mut work = self.database.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        check_agent(work.host(key).and_then(|host| host.record.agent_key.as_deref()), caller)?;
        let (check_ins, now) = (&self.database.cache().check_ins, self.database.now());
        let check_in = check_ins.entry(key);
        check_ins.record(&check_in, now);
        // Only now, so that a stranger uses up nobody's budget; with each try, for each reads it.
        check_in.replies.spend(answer.output.len() + answer.error.len(), self.reply_rate, now);
        work.request_id = Some(caller.request_id);
        let read = Arc::clone(answer);
        let is_long = answer.output.len() >= LONG;
        // What is read of a report is read once more when it is laid over the facts.
        let taken_in = off_thread_if(is_long, work, move |work| {
            let ReplyEffect { decision, notes } = reply(&work.facts, key, &read)?;
            let (is_empty, changes_facts) =
                (decision.is_empty(), !decision.hosts.is_empty() || decision.cluster.is_some());
            work.merge(decision);
            Ok::<_, Refusal>((notes, is_empty, changes_facts))
        });
        let (mut work, taken_in) = taken_in.await?;
        let (notes, is_empty, changes_facts) = taken_in?;
        if !notes.is_empty() {
            tracing::warn!(
                host_id = %key.host_id,
                infra_env_id = %key.infra_env_id,
                step = answer.step_type.map(StepType::as_str),
                set_aside = ?notes,
                "a host's answer is odd in parts; the rest of it is taken"
            );
        }
        if is_empty {
            // Only now: a reply that changes something makes the memo stale anyway.
            if let Some(memo) = memo {
                memo.remember_unchanged(answer);
            }
            return Ok(());
        }
        if changes_facts {
            work.mark_due();
        }
        Box::pin(work.commit(&self.database)).await?;
        Ok(())
    }
}
