//! What the host answers to an instruction, and which answers need not be sent.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::instruction::Instruction;

/// How long an answer counts as known to the service (agent-protocol §1.11).
const KNOWN_FOR: Duration = Duration::from_secs(3_600);

/// Exit code of what the agent itself could not do.
const INTERNAL: i64 = -1;

/// How a step ended: like a process, with an exit code and two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub exit_code: i64,
    pub output: String,
    pub error: String,
}

impl Outcome {
    /// A success.
    pub fn done(output: String) -> Self {
        Self { output, ..Self::default() }
    }

    /// A failure of the agent itself: bad arguments, an unknown step, a limit.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { exit_code: INTERNAL, error: error.into(), ..Self::default() }
    }
}

/// An outcome on the wire; zero and empty are left out.
#[derive(Debug, Serialize)]
pub(crate) struct Reply<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    step_type: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    step_id: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    exit_code: i64,
    #[serde(skip_serializing_if = "str::is_empty")]
    output: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(instruction: &'a Instruction, outcome: &'a Outcome) -> Self {
        Self {
            step_type: &instruction.step_type,
            step_id: &instruction.step_id,
            exit_code: outcome.exit_code,
            output: &outcome.output,
            error: &outcome.error,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(code: &i64) -> bool {
    *code == 0
}

/// Successful outputs that the service has, by kind of step.
#[derive(Debug, Default)]
pub(crate) struct SentReplies(HashMap<String, (Instant, String)>);

impl SentReplies {
    /// Whether sending this would report nothing new. A failure always does.
    pub(crate) fn has(&self, step_type: &str, outcome: &Outcome, now: Instant) -> bool {
        outcome.exit_code == 0
            && self.0.get(step_type).is_some_and(|(at, output)| {
                now.saturating_duration_since(*at) < KNOWN_FOR && *output == outcome.output
            })
    }

    /// Notes what the service has taken.
    pub(crate) fn keep(&mut self, step_type: String, outcome: Outcome, now: Instant) {
        if outcome.exit_code == 0 {
            self.0.insert(step_type, (now, outcome.output));
        }
    }

    /// Forgets everything: the service may have lost what it had.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_fresh_successes_are_known() {
        let (mut known, now) = (SentReplies::default(), Instant::now());
        let done = |output: &str| Outcome::done(output.into());
        assert!(!known.has("inventory", &done("a"), now));
        known.keep("inventory".into(), done("a"), now);
        assert!(known.has("inventory", &done("a"), now));
        assert!(!known.has("inventory", &done("b"), now));
        assert!(!known.has("domain-resolution", &done("a"), now));
        let failed = Outcome { exit_code: 1, ..done("a") };
        assert!(!known.has("inventory", &failed, now));
        known.keep("inventory".into(), failed, now);
        assert!(known.has("inventory", &done("a"), now));
        assert!(!known.has("inventory", &done("a"), now + KNOWN_FOR));
        known.clear();
        assert!(!known.has("inventory", &done("a"), now));
    }

    #[test]
    fn zero_and_empty_are_left_out() {
        let instruction = Instruction { step_type: "inventory".into(), ..Instruction::default() };
        let outcome = Outcome::done("{}".into());
        let reply = serde_json::to_string(&Reply::new(&instruction, &outcome)).unwrap();
        assert_eq!(reply, r#"{"step_type":"inventory","output":"{}"}"#);
    }
}
