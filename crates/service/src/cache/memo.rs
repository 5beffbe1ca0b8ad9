//! What is cached of a host, so that a poll costs next to nothing.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use assisted_core::decide::host::steps::{HostView, prompt_steps, steps};
use assisted_core::model::facts::HostFacts;
use assisted_wire::host::MediaStatus;
use assisted_wire::id::ClusterId;
use assisted_wire::step::{StepReply, StepType, Steps};
use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::Cache;
use super::answer::PollBody;
use super::check_in::CheckIn;
use crate::Error;

/// Longest answer that is kept, in bytes. In a large cluster each host is told of all others.
const LONGEST_ANSWER: usize = 8 * 1024;

/// Number of the next memo.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A host as polls and replies see it. It is dropped when anything changes the host or what it is told.
#[derive(Debug)]
pub(crate) struct HostPollCache {
    pub(crate) view: HostView,
    pub(crate) cluster_id: Option<ClusterId>,
    pub(crate) check_in: Arc<CheckIn>,
    /// The answer to a poll, made at the first one, unless it is too long to be kept for each host.
    answer: OnceLock<Option<PollBody>>,
    /// The answer without steps, of a host that polls again soon.
    nothing: OnceLock<Bytes>,
    /// No other memo has it.
    number: u64,
    media_connected: bool,
    /// Replies that changed nothing, by step: the same again changes nothing either.
    replies: Mutex<HashMap<StepType, u64>>,
    /// Keyed at random, so that nobody can make two replies look alike.
    hasher: RandomState,
}

impl HostPollCache {
    pub(crate) fn new(cache: &Cache, host: &HostFacts, view: HostView) -> Self {
        let fields = &host.record.host;
        Self {
            cluster_id: fields.cluster_id,
            media_connected: fields.media_status != Some(MediaStatus::Disconnected),
            check_in: cache.check_ins.entry(view.key),
            answer: OnceLock::new(),
            nothing: OnceLock::new(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            view,
            replies: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// The answer to a poll of a host that polls again soon, when nothing is due for it.
    fn nothing(&self) -> Result<Bytes, Error> {
        if let Some(body) = self.nothing.get() {
            return Ok(body.clone());
        }
        let answer = Steps { instructions: Some(Vec::new()), ..prompt_steps(&self.view, 0) };
        let body = serde_json::to_vec(&answer).map(Bytes::from).map_err(Error::internal)?;
        Ok(self.nothing.get_or_init(|| body).clone())
    }

    /// The answer to a poll.
    pub(crate) fn answer(&self, now: Timestamp) -> Result<Bytes, Error> {
        let (random, handed_out) = (rand::random::<u32>, &self.check_in.handed_out);
        if self.view.is_prompt(now) {
            if handed_out.nothing_is_due(self.number, now) {
                return self.nothing();
            }
            let mut answer = prompt_steps(&self.view, random());
            if let Some(steps) = &mut answer.instructions {
                handed_out.keep_due(self.number, self.view.since, steps, now);
            }
            return serde_json::to_vec(&answer).map(Bytes::from).map_err(Error::internal);
        }
        handed_out.clear();
        let short =
            || PollBody::new(&steps(&self.view, 0)).ok().filter(|answer| answer.size() <= LONGEST_ANSWER);
        match self.answer.get_or_init(short) {
            Some(answer) => Ok(answer.render(random)),
            None => {
                serde_json::to_vec(&steps(&self.view, random())).map(Bytes::from).map_err(Error::internal)
            }
        }
    }

    fn digest(&self, reply: &StepReply) -> u64 {
        self.hasher.hash_one((&reply.output, &reply.error))
    }

    /// Whether the reply is the same as one that changed nothing.
    pub(crate) fn is_unchanged(&self, reply: &StepReply) -> bool {
        let Some(step) = reply.step_type else { return false };
        if reply.exit_code != 0 || !self.media_connected {
            return false;
        }
        let digest = self.digest(reply);
        self.replies.lock().get(&step) == Some(&digest)
    }

    /// Remembers a reply that changed nothing.
    pub(crate) fn remember_unchanged(&self, reply: &StepReply) {
        if let (Some(step), 0) = (reply.step_type, reply.exit_code) {
            let digest = self.digest(reply);
            self.replies.lock().insert(step, digest);
        }
    }
}
