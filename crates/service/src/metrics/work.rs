//! What the drivers of work have done, and how long the scheduler works without a rest.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_reconcile::Status;
use assisted_wire::id::ClusterId;
use parking_lot::Mutex;
use prometheus::{CounterVec, IntCounterVec, IntGaugeVec, Opts, Registry, Result};

/// Measures of drivers.
#[derive(Debug)]
pub(super) struct Drivers {
    finished: IntCounterVec,
    failed: IntCounterVec,
    set_aside: IntCounterVec,
    busy: CounterVec,
    running: IntGaugeVec,
    statuses: Mutex<Vec<Arc<Status>>>,
}

impl Drivers {
    pub(super) fn new(registry: &Registry) -> Result<Self> {
        let labels = ["driver"];
        let counters = |name: &str, help: &str| {
            let counters = IntCounterVec::new(Opts::new(name, help), &labels)?;
            registry.register(Box::new(counters.clone()))?;
            Ok::<_, prometheus::Error>(counters)
        };
        let busy = Opts::new("assisted_work_busy_seconds_total", "Seconds spent on all attempts together.");
        let running = Opts::new("assisted_work_running", "Rows that are worked on.");
        let drivers = Self {
            finished: counters("assisted_work_finished_total", "Attempts at rows of work that ended well.")?,
            failed: counters("assisted_work_failed_total", "Attempts at rows of work that came to nothing.")?,
            set_aside: counters(
                "assisted_work_set_aside_total",
                "How often a row was set aside, for it fails.",
            )?,
            busy: CounterVec::new(busy, &labels)?,
            running: IntGaugeVec::new(running, &labels)?,
            statuses: Mutex::default(),
        };
        registry.register(Box::new(drivers.busy.clone()))?;
        registry.register(Box::new(drivers.running.clone()))?;
        Ok(drivers)
    }

    /// Has a driver measured from now on.
    pub(super) fn add(&self, status: Arc<Status>) {
        self.statuses.lock().push(status);
    }

    /// Takes over what they have done.
    pub(super) fn measure(&self) {
        for status in &*self.statuses.lock() {
            let seen = status.snapshot();
            let labels = [seen.name];
            for (counter, count) in [
                (&self.finished, seen.finished),
                (&self.failed, seen.failed),
                (&self.set_aside, seen.set_aside),
            ] {
                let counter = counter.with_label_values(&labels);
                counter.inc_by(count.saturating_sub(counter.get()));
            }
            let busy = self.busy.with_label_values(&labels);
            busy.inc_by((seen.busy.as_secs_f64() - busy.get()).max(0.0));
            self.running
                .with_label_values(&labels)
                .set(i64::try_from(seen.running.len()).unwrap_or(i64::MAX));
        }
    }
}

/// The time in which the scheduler does not rest: what stands for the cycles of a service that looks at everything by turns.
#[derive(Debug, Default)]
pub(super) struct BusyTime(Mutex<(usize, Option<Instant>)>);

impl BusyTime {
    /// Notes that a row is begun.
    pub(super) fn begin(&self) {
        let mut state = self.0.lock();
        state.0 += 1;
        state.1.get_or_insert_with(Instant::now);
    }

    /// Notes that one has ended; how long there was work, if it was the last.
    pub(super) fn end(&self) -> Option<Duration> {
        let mut state = self.0.lock();
        state.0 = state.0.saturating_sub(1);
        if state.0 > 0 {
            return None;
        }
        state.1.take().map(|since| since.elapsed())
    }
}

/// The clusters that this process has set aside.
#[derive(Debug, Default)]
pub(super) struct SetAside(Mutex<HashSet<ClusterId>>);

impl SetAside {
    /// Notes one; how many there are now.
    pub(super) fn add(&self, id: ClusterId) -> usize {
        let mut clusters = self.0.lock();
        clusters.insert(id);
        clusters.len()
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<ClusterId> {
        self.0.lock().iter().copied().collect()
    }

    /// Notes that one could be looked at, or is gone; how many there are now, if it was one of them.
    pub(super) fn remove(&self, id: ClusterId) -> Option<usize> {
        let mut clusters = self.0.lock();
        clusters.remove(&id).then(|| clusters.len())
    }
}
