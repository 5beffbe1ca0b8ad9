//! Which steps a host that polls every few seconds was handed out a moment ago, so that it is not given them with each poll.

use std::hash::{DefaultHasher, Hash, Hasher};

use assisted_core::decide::host::steps::repeat_after;
use assisted_wire::step::{Step, StepType};
use assisted_wire::time::DateTime;
use jiff::Timestamp;
use parking_lot::Mutex;

/// The steps that were handed out, and when.
#[derive(Debug, Default)]
pub(crate) struct IssuedSteps(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The arguments are kept as a hash.
    steps: Vec<(StepType, u64, Timestamp)>,
    /// When the host came into the state in which it was handed them: another state calls for them anew.
    since: DateTime,
    /// Nothing of this memo is due until then.
    nothing_due: Option<(u64, Timestamp)>,
}

impl IssuedSteps {
    /// Whether everything that a memo, known by its number, has was handed out a moment ago.
    pub(crate) fn nothing_is_due(&self, memo: u64, now: Timestamp) -> bool {
        self.0.lock().nothing_due.is_some_and(|(known, until)| known == memo && now < until)
    }

    /// Keeps those steps of a memo that are to be handed out now, and notes that they are. `since` is when the host came into
    /// its state.
    pub(crate) fn keep_due(&self, memo: u64, since: DateTime, steps: &mut Vec<Step>, now: Timestamp) {
        let mut state = self.0.lock();
        if state.since != since {
            *state = State { since, ..State::default() };
        }
        let mut next: Option<Timestamp> = None;
        steps.retain(|step| {
            let Some(kind) = step.step_type else { return true };
            let (is_due, again) = state.is_due(kind, step, now);
            next = Some(next.map_or(again, |next| next.min(again)));
            is_due
        });
        state.nothing_due = next.map(|next| (memo, next));
    }

    /// Forgets everything: the host begins anew, or is handed out all its steps with each poll.
    pub(crate) fn clear(&self) {
        let mut state = self.0.lock();
        if !state.steps.is_empty() {
            *state = State::default();
        }
    }
}

impl State {
    /// Whether a step is to be handed out now, which is noted; and when it is again.
    fn is_due(&mut self, kind: StepType, step: &Step, now: Timestamp) -> (bool, Timestamp) {
        let mut hasher = DefaultHasher::new();
        step.args.hash(&mut hasher);
        let arguments = hasher.finish();
        let known = self.steps.iter_mut().find(|(known, ..)| *known == kind);
        if let Some((_, same, at)) = &known
            && *same == arguments
            && now < *at + repeat_after(kind)
        {
            return (false, *at + repeat_after(kind));
        }
        match known {
            Some(known) => *known = (kind, arguments, now),
            None => self.steps.push((kind, arguments, now)),
        }
        (true, now + repeat_after(kind))
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
        let (handed_out, now) = (IssuedSteps::default(), Timestamp::UNIX_EPOCH);
        let at = |seconds| now + Duration::from_secs(seconds);
        let due = |kind, argument, seconds| {
            let mut steps = vec![step(kind, argument)];
            handed_out.keep_due(7, DateTime::ZERO, &mut steps, at(seconds));
            !steps.is_empty()
        };
        assert!(due(StepType::Inventory, "a", 0));
        assert!(!due(StepType::Inventory, "a", 59));
        assert!(due(StepType::Inventory, "a", 60), "a minute later");
        assert!(due(StepType::Inventory, "b", 61), "other arguments");
        assert!(due(StepType::NtpSynchronizer, "a", 61));
        assert!(due(StepType::NtpSynchronizer, "a", 76), "a probe whose outcome changes by itself");
        handed_out.clear();
        assert!(due(StepType::Inventory, "b", 62));
    }
    #[test]
    fn nothing_is_due_until_the_first_of_the_steps_is() {
        let (handed_out, now) = (IssuedSteps::default(), Timestamp::UNIX_EPOCH);
        let at = |seconds| now + Duration::from_secs(seconds);
        assert!(!handed_out.nothing_is_due(7, now));
        let mut steps = vec![step(StepType::Inventory, "a"), step(StepType::NtpSynchronizer, "a")];
        handed_out.keep_due(7, DateTime::ZERO, &mut steps, now);
        assert_eq!(steps.len(), 2);
        assert!(handed_out.nothing_is_due(7, at(14)));
        assert!(!handed_out.nothing_is_due(7, at(15)));
        assert!(!handed_out.nothing_is_due(8, at(1)), "what another memo tells may be new");
        handed_out.keep_due(8, DateTime::ZERO, &mut steps, at(1));
        assert_eq!(steps.len(), 0, "the same steps in the same state");
        let mut steps = vec![step(StepType::Inventory, "a")];
        handed_out.keep_due(9, at(1).into(), &mut steps, at(1));
        assert_eq!(steps.len(), 1, "another state");
        handed_out.clear();
        assert!(!handed_out.nothing_is_due(7, at(1)));
    }
}
