//! When a request is sent again, and after how long.

use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_wire::operation::{Method, Operation, OperationId};

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
    /// No pause is longer, whatever the service asks for. A registration that is to be repeated later is not repeated.
    pub longest_pause: Duration,
    /// Whether whoever asks has nothing better to do than to wait: then every failure that may pass is repeated, of
    /// whatever method.
    pub patient: bool,
}

/// How often a patient client asks for what is not there yet (installer-and-controller §A4).
const ABSENT: u32 = 10;

impl RetryPolicy {
    /// Every failure is reported at once.
    pub const NONE: Self =
        Self { retries: 0, first_pause: Duration::ZERO, longest_pause: Duration::ZERO, patient: false };

    /// For installers and controllers (installer-and-controller §A4): a service that restarts, or isn't reached for a
    /// while, is waited for; so is, for a shorter while, what isn't there or is locked.
    pub fn patient(retries: u32) -> Self {
        Self { retries, patient: true, ..Self::default() }
    }

    /// The pause before repetition number `repetition` (0 is the first), or `None` to give up.
    pub(crate) fn pause(&self, repetition: u32, operation: &Operation, error: &Error) -> Option<Duration> {
        if repetition >= self.retries || !(self.patient || repeatable(operation)) {
            return None;
        }
        let asked = match error {
            Error::Refused(refusal) if self.patient => match refusal.status {
                404 | 423 | 425 if repetition < ABSENT => refusal.retry_after,
                408 | 429 | 500.. => refusal.retry_after,
                _ => return None,
            },
            Error::Unreachable { failure, .. } if self.patient && *failure != Failure::Certificate => None,
            Error::Refused(refusal) if matches!(refusal.status, 429 | 503 | 504) => refusal.retry_after,
            Error::Unreachable { failure: Failure::Timeout | Failure::Dropped, .. } => None,
            _ => return None,
        };
        if let Some(asked) = asked {
            // An agent that registers waits by itself for as long as it is told, and says so in its log.
            let is_for_the_caller = operation.id == OperationId::RegisterHost && asked > self.longest_pause;
            return (!is_for_the_caller).then(|| asked.min(self.longest_pause));
        }
        let backoff = Backoff { first: self.first_pause, longest: self.longest_pause, jitter: Jitter::Full };
        Some(backoff.pause(repetition + 1))
    }
}

impl Default for RetryPolicy {
    /// Three repetitions, up to 2, 4 and 8 s after each other (agent-protocol §1.5).
    fn default() -> Self {
        Self {
            retries: 3,
            first_pause: Duration::from_secs(2),
            longest_pause: Duration::from_secs(10),
            patient: false,
        }
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
    fn a_patient_client_waits_for_a_service_that_is_away() {
        let policy = RetryPolicy::patient(360);
        let pause = |repetition, operation: OperationId, error: &Error| {
            policy.pause(repetition, operation.operation(), error).is_some()
        };
        let away = |failure| Error::Unreachable {
            operation: "x",
            authority: String::new(),
            failure,
            cause: String::new(),
        };
        assert!(pause(359, OperationId::UploadLogs, &away(Failure::Refused)));
        assert!(!pause(360, OperationId::UploadLogs, &away(Failure::Refused)));
        assert!(pause(0, OperationId::GetCluster, &away(Failure::Name)));
        assert!(!pause(0, OperationId::GetCluster, &away(Failure::Certificate)));
        for (status, repetitions) in
            [(404, 10), (425, 10), (408, 360), (502, 360), (400, 0), (401, 0), (409, 0)]
        {
            let refused = Error::Refused(Box::new(crate::ErrorResponse {
                operation: "x",
                status,
                body: crate::ErrorBody::Empty,
                request_id: uuid::Uuid::nil(),
                location: None,
                retry_after: None,
                section: None,
            }));
            let repeated =
                (0..1_000).take_while(|number| pause(*number, OperationId::GetCluster, &refused)).count();
            assert_eq!(repeated, repetitions, "{status}");
        }
    }

    #[test]
    fn what_a_refusal_asks_for_is_kept_to_up_to_the_longest_pause() {
        let pause = |operation: OperationId, seconds| {
            let refused = Error::Refused(Box::new(crate::ErrorResponse {
                operation: "x",
                status: 503,
                body: crate::ErrorBody::Empty,
                request_id: uuid::Uuid::nil(),
                location: None,
                retry_after: Some(Duration::from_secs(seconds)),
                section: None,
            }));
            RetryPolicy::default().pause(0, operation.operation(), &refused).map(|pause| pause.as_secs())
        };
        assert_eq!(
            (pause(OperationId::GetCluster, 4), pause(OperationId::GetCluster, 60)),
            (Some(4), Some(10))
        );
        let register = OperationId::RegisterHost;
        assert_eq!([4, 10, 11].map(|seconds| pause(register, seconds)), [Some(4), Some(10), None]);
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
