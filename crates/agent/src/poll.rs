//! Polling: ask for instructions, start them, wait as told, ask again (agent-protocol §1.9).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use assisted_client::{Client, Error};
use assisted_wire::machine;
use assisted_wire::operation::OperationId;
use assisted_wire::secret::Secret;
use rand::Rng;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, error, info, warn};
use uuid::Uuid;

use crate::config::Limits;
use crate::instruction::{Answer, Instruction};
use crate::media::{self, Media};
use crate::register::Session;
use crate::reply::{Outcome, Reply, SentReplies};
use crate::step::{Steps, limit, upgraded_to};
use crate::task::propagate;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Why polling ended.
#[derive(Debug)]
pub(crate) enum PollEnd {
    /// The host is to register anew.
    Register,
    /// The service doesn't know the host.
    Unknown(Error),
    /// The image of another agent is here, and is to go on.
    Upgraded(String),
}

/// One registration's conversation with the service.
#[derive(Debug)]
pub(crate) struct Poller<S> {
    client: Client,
    session: Session,
    steps: Arc<S>,
    media: Option<Media>,
    key: Option<Secret>,
    limits: Limits,
    running: Semaphore,
    sent: Mutex<SentReplies>,
}

impl<S: Steps> Poller<S> {
    pub(crate) fn new(
        client: Client,
        session: Session,
        steps: Arc<S>,
        media: Option<Media>,
        key: Option<Secret>,
        limits: Limits,
    ) -> Self {
        let running = Semaphore::new(limits.running);
        Self { client, session, steps, media, key, limits, running, sent: Mutex::default() }
    }

    /// Polls until the host is to register anew. Steps that still run then are given up.
    pub(crate) async fn run(self) -> PollEnd {
        let poller = Arc::new(self);
        let mut steps = JoinSet::new();
        let mut failed_polls: Option<FailedPolls> = None;
        loop {
            let conversation = Uuid::new_v4();
            let (pause, leave) = match poller.ask(conversation).await {
                Ok(answer) => {
                    failed_polls = None;
                    let (pause, leave) = (answer.pause(poller.limits.pause), answer.exit());
                    if answer.instructions.left_out > 0 {
                        warn!(left_out = answer.instructions.left_out, "more instructions than are followed");
                    }
                    for instruction in answer.instructions.list {
                        steps.spawn(Arc::clone(&poller).follow(instruction, conversation));
                    }
                    (pause, leave)
                }
                Err(Error::Refused(refusal)) if refusal.status == 404 && refusal.is_of_the_api() => {
                    return PollEnd::Unknown(Error::Refused(refusal));
                }
                Err(Error::Refused(refusal)) if refusal.status == 409 && refusal.is_of_the_api() => {
                    let refused = Error::Refused(refusal);
                    warn!(error = %refused, "another agent is this host to the service; registering anew");
                    return PollEnd::Register;
                }
                Err(failure) => {
                    poller.sent().clear();
                    let failed_polls = failed_polls.get_or_insert_with(FailedPolls::begin);
                    if failed_polls.since.elapsed() >= poller.limits.silence {
                        error!(error = %failure, "no instructions for too long; registering anew");
                        return PollEnd::Register;
                    }
                    let pause = failed_polls.next_pause();
                    warn!(error = %failure, remedy = failure.remedy(), ?pause, "no instructions");
                    (pause, false)
                }
            };
            let wake = sleep_until(Instant::now() + pause);
            tokio::pin!(wake);
            loop {
                tokio::select! {
                    () = &mut wake => break,
                    Some(ended) = steps.join_next() => match ended {
                        Ok(Some(image)) => return PollEnd::Upgraded(image),
                        Ok(None) => {}
                        Err(failure) => propagate(failure),
                    },
                }
            }
            if leave {
                info!("the service asks this host to register anew");
                return PollEnd::Register;
            }
        }
    }

    async fn ask(&self, conversation: Uuid) -> Result<Answer, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.client
            .call(OperationId::GetNextSteps)
            .path("infra_env_id", self.session.infra_env_id)
            .path("host_id", self.session.host_id)
            .query("timestamp", Some(now.as_secs()))
            .header("discovery_agent_version", Some(&self.session.agent_version))
            .secret_header(machine::KEY_HEADER, self.key.as_ref())
            .request_id(conversation)
            .send()
            .await
    }

    /// Runs a step and sends its reply. Returns the image of the agent that is to go on, where the step has pulled one.
    async fn follow(self: Arc<Self>, instruction: Instruction, conversation: Uuid) -> Option<String> {
        let outcome = self.outcome(&instruction).await;
        let upgraded = upgraded_to(&instruction, &outcome);
        self.send_reply(instruction, outcome, conversation).await;
        upgraded
    }

    async fn send_reply(&self, instruction: Instruction, outcome: Outcome, conversation: Uuid) {
        let Instruction { step_type, step_id, .. } = &instruction;
        if self.sent().has(step_type, &outcome, std::time::Instant::now()) {
            debug!(step_type, step_id, "the service knows this output");
            return;
        }
        let posted = self
            .client
            .call(OperationId::PostStepReply)
            .path("infra_env_id", self.session.infra_env_id)
            .path("host_id", self.session.host_id)
            .header("discovery_agent_version", Some(&self.session.agent_version))
            .secret_header(machine::KEY_HEADER, self.key.as_ref())
            .request_id(conversation)
            .json(&Reply::new(&instruction, &outcome))
            .send_empty()
            .await;
        match posted {
            Ok(()) => {
                info!(step_type, step_id, exit_code = outcome.exit_code, "reply taken");
                self.sent().keep(instruction.step_type, outcome, std::time::Instant::now());
            }
            Err(refused) => warn!(step_type, step_id, error = %refused, "reply not taken"),
        }
    }

    async fn outcome(&self, instruction: &Instruction) -> Outcome {
        let Ok(_place) = self.running.try_acquire() else {
            return Outcome::failed("too many steps are running");
        };
        if let Some(error) = self.media_error().await {
            return Outcome { exit_code: media::LOST, error, ..Outcome::default() };
        }
        info!(step_type = instruction.step_type, step_id = instruction.step_id, "step begins");
        let limit = limit(&instruction.step_type).map_or(self.limits.step, |own| own.max(self.limits.step));
        let mut outcome = match tokio::time::timeout(limit, self.steps.run(instruction)).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::failed(format!("the step was timed out after {} seconds", limit.as_secs())),
        };
        let (longest, allowed) = (outcome.output.len().max(outcome.error.len()), self.limits.output);
        if longest > allowed {
            outcome = Outcome::failed(format!("the step wrote {longest} bytes, more than {allowed}"));
        }
        if outcome.exit_code != 0 {
            warn!(
                step_type = instruction.step_type,
                step_id = instruction.step_id,
                error = outcome.error,
                "step failed"
            );
            if self.media_error().await.is_some() {
                outcome.exit_code = media::LOST;
            }
        }
        outcome
    }

    async fn media_error(&self) -> Option<String> {
        match &self.media {
            Some(media) => media.read_error().await,
            None => None,
        }
    }

    fn sent(&self) -> std::sync::MutexGuard<'_, SentReplies> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run of failed polls.
struct FailedPolls {
    since: Instant,
    pause: Duration,
}

impl FailedPolls {
    fn begin() -> Self {
        Self { since: Instant::now(), pause: FIRST_PAUSE }
    }

    /// Grows by half each time, and varies by half either way so that hosts don't come in step.
    fn next_pause(&mut self) -> Duration {
        let pause = self.pause.mul_f64(rand::rng().random_range(0.5..1.5));
        self.pause = self.pause.mul_f64(1.5).min(LONGEST_PAUSE);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_vary() {
        let mut failed_polls = FailedPolls::begin();
        let mut middle = FIRST_PAUSE;
        for _ in 0..100 {
            let pause = failed_polls.next_pause();
            assert!(
                pause >= middle.mul_f64(0.5) && pause <= middle.mul_f64(1.5),
                "{pause:?} around {middle:?}"
            );
            middle = middle.mul_f64(1.5).min(Duration::from_secs(60));
        }
        assert_eq!(failed_polls.pause, Duration::from_secs(60));
    }
}
