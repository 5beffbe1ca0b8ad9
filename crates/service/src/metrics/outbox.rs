//! Messages for others: what waits, what was sent, what was lost.

use assisted_store::{OutboxState, Sink};
use jiff::Timestamp;
use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec, Opts, Registry, Result};

/// Measures of the messages for each sink, as this replica last saw them.
#[derive(Debug)]
pub(crate) struct Outbox {
    waiting: IntGaugeVec,
    bytes: IntGaugeVec,
    oldest: GaugeVec,
    aside: IntGaugeVec,
    sent: IntCounterVec,
    failed: IntCounterVec,
    dropped: IntCounterVec,
}

impl Outbox {
    pub(super) fn new(registry: &Registry) -> Result<Self> {
        let labels = ["sink"];
        let counters = |name: &str, help: &str| {
            let counters = IntCounterVec::new(Opts::new(name, help), &labels)?;
            registry.register(Box::new(counters.clone()))?;
            Ok::<_, prometheus::Error>(counters)
        };
        let gauges = |name: &str, help: &str| {
            let gauges = IntGaugeVec::new(Opts::new(name, help), &labels)?;
            registry.register(Box::new(gauges.clone()))?;
            Ok::<_, prometheus::Error>(gauges)
        };
        let oldest = Opts::new("assisted_outbox_oldest_seconds", "Age of the message that waits longest.");
        let outbox = Self {
            waiting: gauges("assisted_outbox_messages", "Messages that wait to be sent.")?,
            bytes: gauges("assisted_outbox_bytes", "Size of the messages that wait to be sent.")?,
            oldest: GaugeVec::new(oldest, &labels)?,
            aside: gauges("assisted_outbox_set_aside", "Messages that are set aside, for they are refused.")?,
            sent: counters("assisted_outbox_sent_total", "Messages that were taken.")?,
            failed: counters("assisted_outbox_failed_total", "Deliveries that came to nothing.")?,
            dropped: counters(
                "assisted_outbox_dropped_total",
                "Messages that are lost: too old, or too many.",
            )?,
        };
        registry.register(Box::new(outbox.oldest.clone()))?;
        Ok(outbox)
    }

    /// Notes what waits.
    pub(crate) fn measure(&self, sink: Sink, state: &OutboxState, now: Timestamp) {
        let labels = [sink.name()];
        let number = |number| i64::try_from(number).unwrap_or(i64::MAX);
        self.waiting.with_label_values(&labels).set(number(state.waiting));
        self.bytes.with_label_values(&labels).set(number(state.bytes));
        self.aside.with_label_values(&labels).set(number(state.aside));
        let age = state.oldest.map_or(0.0, |oldest| now.duration_since(oldest).as_secs_f64().max(0.0));
        self.oldest.with_label_values(&labels).set(age);
    }

    /// Notes that messages were taken.
    pub(crate) fn sent(&self, sink: Sink, count: usize) {
        self.sent.with_label_values(&[sink.name()]).inc_by(count as u64);
    }

    /// Notes that a delivery came to nothing.
    pub(crate) fn failed(&self, sink: Sink) {
        self.failed.with_label_values(&[sink.name()]).inc();
    }

    /// Notes that messages are lost.
    pub(crate) fn dropped(&self, sink: Sink, count: u64) {
        self.dropped.with_label_values(&[sink.name()]).inc_by(count);
    }
}
