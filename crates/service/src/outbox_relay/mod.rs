//! Takes messages to those who want them: one row of due work for each sink, so that of several replicas one sends, in order.
//!
//! What was taken is removed afterwards. Who dies in between leaves it to be sent once more, under the same id. A sink that is
//! away holds up its own messages alone, which wait up to a number, a size and an age.

mod sinks;

use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_config::Settings;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_sink::{Delivery, Message};
use assisted_store::{Batch, LeasedItem, OutboxLimits, OutboxMessage, Sink};
use jiff::Timestamp;

use crate::attempt::AttemptError;
use crate::database::Database;
use crate::parts::Parts;
pub(crate) use sinks::Sinks;

/// Messages that are sent together.
const TOGETHER: u32 = 100;
/// How long one attempt goes on while there is more.
const SPELL: Duration = Duration::from_secs(60);
/// How often a message may be refused before it is set aside.
const MOST_REFUSALS: u32 = 5;

/// Sends what stands in the outbox.
pub(crate) struct OutboxRelay {
    database: Arc<Database>,
    settings: Arc<Settings>,
    sinks: Sinks,
}

impl OutboxRelay {
    pub(crate) fn new(parts: &Parts, sinks: Sinks) -> Self {
        Self { database: Arc::clone(&parts.database), settings: Arc::clone(&parts.settings), sinks }
    }

    /// Sends what waits for a sink; returns when to go on.
    pub(crate) async fn run(
        &self,
        taken: &LeasedItem,
        sink: Sink,
    ) -> Result<Option<Timestamp>, AttemptError> {
        if !self.sinks.has(sink) {
            return self.finish(taken, None).await;
        }
        let ended = self.send_all(taken, sink).await;
        let state = self.database.reader().outbox_state(sink).await?;
        self.database.metrics().outbox().measure(sink, &state, self.database.now());
        ended
    }

    async fn send_all(&self, taken: &LeasedItem, sink: Sink) -> Result<Option<Timestamp>, AttemptError> {
        self.trim(sink).await?;
        let began = Instant::now();
        loop {
            let waiting = self.database.reader().messages(sink, TOGETHER).await?;
            if waiting.is_empty() {
                return self.finish(taken, None).await;
            }
            let messages: Vec<_> = waiting.iter().map(message).collect();
            let delivery = self.sinks.send(sink, &messages).await;
            self.record_delivery(sink, &waiting, &delivery).await?;
            if let Some(failed) = delivery.failed {
                self.database.metrics().outbox().failed(sink);
                let Some(pause) = failed.retry_after else { return Err(away(sink, &failed.reason)) };
                let until = self.database.now().checked_add(pause).unwrap_or(Timestamp::MAX);
                let mut batch = Batch::new();
                batch.fail_due(taken, failed.reason, until);
                self.database.commit_silently(batch).await?;
                return Ok(Some(until));
            }
            if let Some((_, reason)) = delivery.refused.first() {
                return Err(away(sink, &format!("a message was refused: {reason}")));
            }
            if began.elapsed() >= SPELL {
                return self.finish(taken, Some(self.database.now())).await;
            }
        }
    }

    /// Removes what was taken, and sets aside what is refused again and again.
    async fn record_delivery(
        &self,
        sink: Sink,
        waiting: &[OutboxMessage],
        delivery: &Delivery,
    ) -> Result<(), AttemptError> {
        let mut batch = Batch::new();
        let taken: Vec<_> =
            delivery.taken.iter().filter_map(|place| Some(waiting.get(*place)?.number)).collect();
        batch.remove_messages(&taken);
        for (place, reason) in &delivery.refused {
            let Some(message) = waiting.get(*place) else { continue };
            let aside = (message.attempts + 1 >= MOST_REFUSALS).then(|| self.database.now());
            if aside.is_some() {
                let (id, kind) = (message.id, &message.kind);
                tracing::error!(%sink, %id, kind, reason, "a message is set aside: it was refused again and again");
            }
            batch.refuse_message(message.number, reason.clone(), aside);
        }
        if !batch.is_empty() {
            self.database.commit_silently(batch).await?;
        }
        self.database.metrics().outbox().sent(sink, taken.len());
        Ok(())
    }

    /// Gives up the oldest messages of which there are too many.
    async fn trim(&self, sink: Sink) -> Result<(), AttemptError> {
        let set = &self.settings.stream;
        let age = jiff::SignedDuration::try_from(set.outbox_max_age).unwrap_or(jiff::SignedDuration::MAX);
        let before = self.database.now().checked_sub(age).unwrap_or(Timestamp::MIN);
        let limits =
            OutboxLimits { messages: set.outbox_max_messages, bytes: set.outbox_max_bytes.0, before };
        let dropped = self.database.trim_outbox(sink, limits).await?;
        if dropped > 0 {
            tracing::error!(%sink, dropped, "messages are lost: they waited too long, or too many waited");
            self.database.metrics().outbox().dropped(sink, dropped);
        }
        Ok(())
    }

    async fn finish(
        &self,
        taken: &LeasedItem,
        next: Option<Timestamp>,
    ) -> Result<Option<Timestamp>, AttemptError> {
        let mut batch = Batch::new();
        batch.finish_due(taken, next);
        self.database.commit_silently(batch).await?;
        Ok(next)
    }
}

fn message(waiting: &OutboxMessage) -> Message {
    Message {
        id: waiting.id,
        kind: waiting.kind.clone(),
        key: waiting.cluster_id.map(|id| id.0),
        at: waiting.at,
        body: waiting.body.clone(),
    }
}

/// It is not the fault of the work: it is tried again and again, and never set aside.
fn away(sink: Sink, reason: &str) -> AttemptError {
    Refusal::new(RefusalKind::Unavailable, format!("{sink}: {reason}")).into()
}
