//! Which steps a host that polls every few seconds was handed out a moment ago, so that it is not given them with each poll.

use std::hash::{DefaultHasher, Hash, Hasher};

use assisted_core::host::steps::repeat_after;
use assisted_wire::step::{Step, StepType};
use jiff::Timestamp;
use parking_lot::Mutex;

/// Steps and when they were handed out last; the arguments are kept as a hash.
#[derive(Debug, Default)]
pub(crate) struct HandedOut(Mutex<Vec<(StepType, u64, Timestamp)>>);

impl HandedOut {
    /// Whether a step is to be handed out now. If so, it is noted as handed out.
    pub(crate) fn is_due(&self, step: &Step, now: Timestamp) -> bool {
        let Some(kind) = step.step_type else { return true };
        let mut hasher = DefaultHasher::new();
        step.args.hash(&mut hasher);
        let arguments = hasher.finish();
        let mut all = self.0.lock();
        match all.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, same, at)) if *same == arguments && now < *at + repeat_after(kind) => false,
            Some(known) => {
                *known = (kind, arguments, now);
                true
            }
            None => {
                all.push((kind, arguments, now));
                true
            }
        }
    }

    /// Forgets everything: the host begins anew, or is handed out all its steps with each poll.
    pub(crate) fn clear(&self) {
        let mut all = self.0.lock();
        if !all.is_empty() {
            *all = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn step(kind: StepType, argument: &str) -> Step {
        Step { step_type: Some(kind), step_id: String::new(), args: Some(vec![argument.to_owned()]) }
    }

    #[test]
    fn a_step_is_due_when_it_is_new_or_was_handed_out_a_while_ago() {
        let (handed_out, now) = (HandedOut::default(), Timestamp::UNIX_EPOCH);
        let at = |seconds| now + Duration::from_secs(seconds);
        let due = |kind, argument, seconds| handed_out.is_due(&step(kind, argument), at(seconds));
        assert!(due(StepType::Inventory, "a", 0));
        assert!(!due(StepType::Inventory, "a", 59));
        assert!(due(StepType::Inventory, "a", 60), "a minute later");
        assert!(due(StepType::Inventory, "b", 61), "other arguments");
        assert!(due(StepType::NtpSynchronizer, "a", 61));
        assert!(due(StepType::NtpSynchronizer, "a", 76), "a probe whose outcome changes by itself");
        handed_out.clear();
        assert!(due(StepType::Inventory, "b", 62));
    }
}
