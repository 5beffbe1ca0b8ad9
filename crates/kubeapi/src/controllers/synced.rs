//! Which Agents have come to their hosts as they are now: what somebody approves is installed with what was written with the approval,
//! not with what the host was told before (kube-api §6.4.5).

use std::collections::BTreeMap;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use parking_lot::Mutex;

use super::cache::key;

/// The generations of Agents that came to their hosts.
#[derive(Debug, Default)]
pub(super) struct Synced(Mutex<BTreeMap<ObjectKey, i64>>);

impl Synced {
    /// Notes that an Agent came to its host, or did not; whether that is news.
    pub(super) fn record(&self, agent: &Agent, is_synced: bool) -> bool {
        let mut all = self.0.lock();
        let before = match (is_synced, agent.metadata.generation) {
            (true, Some(generation)) => all.insert(key(agent), generation),
            _ => return all.remove(&key(agent)).is_some(),
        };
        before != agent.metadata.generation
    }

    /// Forgets an Agent that is gone.
    pub(super) fn forget(&self, agent: &ObjectKey) {
        self.0.lock().remove(agent);
    }

    /// Whether somebody has approved the host, and all that was written until then has come to it.
    pub(super) fn is_approved(&self, agent: &Agent) -> bool {
        let known = self.0.lock().get(&key(agent)).copied();
        agent.spec.approved && known >= agent.metadata.generation && known.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_counts_when_what_was_written_with_it_has_come_to_the_host() {
        let agent = |generation: i64, approved: bool| {
            let mut agent = Agent::default();
            agent.metadata.name = Some("a".to_owned());
            agent.metadata.generation = Some(generation);
            agent.spec.approved = approved;
            agent
        };
        let synced = Synced::default();
        assert!(!synced.is_approved(&agent(1, true)));
        assert!(synced.record(&agent(1, false), true) && !synced.record(&agent(1, false), true));
        assert!(!synced.is_approved(&agent(1, false)) && !synced.is_approved(&agent(2, true)));
        assert!(synced.record(&agent(2, true), true));
        assert!(synced.is_approved(&agent(2, true)));
        assert!(synced.record(&agent(2, true), false) && !synced.is_approved(&agent(2, true)));
        synced.record(&agent(2, true), true);
        synced.forget(&key(&agent(2, true)));
        assert!(!synced.is_approved(&agent(2, true)));
    }
}
