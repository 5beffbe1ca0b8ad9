//! A host answers a step (agent-protocol §2.3).

use std::sync::Arc;

use assisted_core::host::record::HostKey;
use assisted_core::host::reply::reply;
use assisted_wire::step::StepReply;

use super::memo::HostMemo;
use super::no_host;
use crate::fault::{Fault, attempt};
use crate::{Caller, Error, Service};

impl Service {
    /// Takes in what a host answers. The same answer once more asks the database nothing.
    ///
    /// # Errors
    ///
    /// 404 when there is no such host, 400 when the answer can't be read, 500 when it makes no sense in the host's state.
    pub async fn post_step_reply(
        &self,
        caller: &Caller,
        host: HostKey,
        reply: StepReply,
    ) -> Result<(), Error> {
        let memo = attempt!(self, caller, self.memo(host))?.ok_or_else(|| no_host(host))?;
        self.memory().check_ins.note(&memo.check_in, self.now());
        if memo.knows(&reply) {
            return Ok(());
        }
        attempt!(self, caller, self.try_reply(caller, host, &reply, &memo))
    }

    async fn try_reply(
        &self,
        caller: &Caller,
        key: HostKey,
        answer: &StepReply,
        memo: &Arc<HostMemo>,
    ) -> Result<(), Fault> {
        let mut work = self.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let effect = reply(&work.facts, key, answer)?;
        if effect.is_empty() {
            memo.learn(answer);
            return Ok(());
        }
        let told = effect.host.is_some() || effect.cluster.is_some();
        if let Some(change) = effect.host {
            work.change_host(change);
        }
        if let Some(record) = effect.cluster {
            work.put_cluster(record);
        }
        work.events.extend(effect.events);
        if told {
            work.mark_due();
        }
        work.commit(self).await?;
        Ok(())
    }
}
