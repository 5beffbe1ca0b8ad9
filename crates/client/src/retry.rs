//! When a request is sent again, and after how long.

use std::time::Duration;

use assisted_wire::operation::{Method, Operation, OperationId};
use rand::Rng;

use crate::error::{Error, Failure};

/// How often a request that may be repeated is sent again after a passing failure: 429, 503, 504, a time-out, a dropped
/// connection. A refused connection is no passing failure: whoever waits for a service to start says so with its own
/// loop.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// How often a request is repeated; 0 turns repeating off.
    pub retries: u32,
    /// The first pause lies between nothing and this; each further one may be twice as long.
    pub first_pause: Duration,
    /// No pause is longer, whatever the service asks for.
    pub longest_pause: Duration,
}

impl RetryPolicy {
    /// Every failure is reported at once.
    pub const NONE: Self = Self { retries: 0, first_pause: Duration::ZERO, longest_pause: Duration::ZERO };

    /// The pause before repetition number `repetition` (0 is the first), or `None` to give up.
    pub(crate) fn pause(&self, repetition: u32, operation: &Operation, error: &Error) -> Option<Duration> {
        if repetition >= self.retries || !repeatable(operation) {
            return None;
        }
        let asked = match error {
            Error::Refused(refusal) if matches!(refusal.status, 429 | 503 | 504) => refusal.retry_after,
            Error::Unreachable { failure: Failure::Timeout | Failure::Dropped, .. } => None,
            _ => return None,
        };
        if let Some(asked) = asked {
            return Some(asked.min(self.longest_pause));
        }
        let limit = self.first_pause.saturating_mul(1 << repetition.min(16)).min(self.longest_pause);
        Some(limit.mul_f64(rand::rng().random::<f64>()))
    }
}

impl Default for RetryPolicy {
    /// Three repetitions, up to 2, 4 and 8 s after each other (agent-protocol §1.5).
    fn default() -> Self {
        Self { retries: 3, first_pause: Duration::from_secs(2), longest_pause: Duration::from_secs(10) }
    }
}

/// Whether doing the operation twice is the same as doing it once. Registration and replies of hosts are POSTs, but the
/// service keeps one row per host and the last reply per step.
fn repeatable(operation: &Operation) -> bool {
    matches!(operation.method, Method::Get | Method::Put | Method::Delete)
        || matches!(operation.id, OperationId::RegisterHost | OperationId::PostStepReply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout(operation: OperationId) -> Option<Duration> {
        let error = Error::Unreachable {
            operation: "x",
            authority: String::new(),
            failure: Failure::Timeout,
            cause: String::new(),
        };
        RetryPolicy::default().pause(0, operation.operation(), &error)
    }

    #[test]
    fn only_what_may_be_repeated_is_repeated() {
        assert!(timeout(OperationId::GetCluster).is_some());
        assert!(timeout(OperationId::PostStepReply).is_some());
        assert!(timeout(OperationId::RegisterCluster).is_none());
        assert!(timeout(OperationId::UpdateCluster).is_none());
    }

    #[test]
    fn pauses_are_bounded() {
        let policy = RetryPolicy { retries: 100, ..RetryPolicy::default() };
        let error = Error::Unreachable {
            operation: "x",
            authority: String::new(),
            failure: Failure::Dropped,
            cause: String::new(),
        };
        for repetition in 0..100 {
            let pause = policy.pause(repetition, OperationId::GetCluster.operation(), &error).unwrap();
            assert!(pause <= Duration::from_secs(10));
        }
        assert!(policy.pause(100, OperationId::GetCluster.operation(), &error).is_none());
    }
}
