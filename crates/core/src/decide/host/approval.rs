//! Somebody approves a host by its object of the Kubernetes API, or takes that back (state-machines §4.16).

use jiff::Timestamp;

use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::HostFacts;

/// Notes whether a host is approved; an event tells of a change. What is installed does not depend on it here: the object says it.
pub fn approve_host(host: &HostFacts, approved: bool, now: Timestamp) -> Decision {
    if host.record.approved == approved {
        return Decision::default();
    }
    let mut after = host.clone();
    after.record.approved = approved;
    let events = vec![catalogue::HOST_APPROVED_UPDATED.of_host(&after, &[("approved_value", &approved)])];
    Decision::of_host(host, after, now, events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing::facts;

    #[test]
    fn a_change_is_told_once() {
        let facts = facts(1);
        let mut host = facts.hosts[0].clone();
        for (approved, told) in [(false, false), (true, true), (true, false), (false, true)] {
            let decision = approve_host(&host, approved, facts.now);
            assert_eq!(decision.is_empty(), !told, "{approved}: {decision:?}");
            if told {
                let [event] = decision.events.as_slice() else { panic!("{decision:?}") };
                assert_eq!(event.name, "host_approved_updated");
                assert!(event.message.ends_with(&format!(": updated approved to {approved}")), "{event:?}");
                host.record = decision.hosts[0].record.clone().unwrap().into();
            }
            assert_eq!(host.record.approved, approved);
        }
    }
}
