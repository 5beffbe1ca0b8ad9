//! The driver: takes rows, works on them, and gives them back.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::Backoff;
use jiff::Timestamp;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::status::{End, Status};
use crate::traits::{Ending, Failure, Outcome, Queue, Reconciler, Row};

/// While rows are worked on, changes are looked for no more often than this: those of one row come together.
const MIN_INTERVAL: Duration = Duration::from_millis(25);
/// How soon it is asked when the next row is due while others are worked on.
const MEANWHILE: Duration = Duration::from_millis(250);
/// When a row is looked at again that was judged by something that has changed meanwhile.
const STALE: Duration = Duration::from_millis(250);

/// How a driver works.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Rows that are worked on at the same time.
    pub at_once: usize,
    /// How long an attempt may take.
    pub time_limit: Duration,
    /// How often a lease is renewed.
    pub keep: Duration,
    /// Between a failure and the next attempt.
    pub backoff: Backoff,
    /// Attempts in a row that may fail before a row is set aside.
    pub most_failures: u32,
    /// The same for attempts that panic or take too long.
    pub most_crashes: u32,
    /// When a row that was set aside is tried again by itself.
    pub aside: Duration,
    /// The longest rest: a wake-up that got lost costs no more than this.
    pub longest_rest: Duration,
    /// The shortest rest that only the clock ends: what is due within it is taken together.
    pub shortest_rest: Duration,
    /// Whether rows that are worked on when the process stops are given back at once, instead of being finished.
    pub give_back: bool,
}

/// Works on the rows of a queue until it is stopped.
#[derive(Debug)]
pub struct Driver<Q, R> {
    queue: Arc<Q>,
    reconciler: Arc<R>,
    policy: Arc<Policy>,
    status: Arc<Status>,
}

impl<Q, R> Clone for Driver<Q, R> {
    fn clone(&self) -> Self {
        Self {
            queue: Arc::clone(&self.queue),
            reconciler: Arc::clone(&self.reconciler),
            policy: Arc::clone(&self.policy),
            status: Arc::clone(&self.status),
        }
    }
}

/// What a driver does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Takes rows.
    Take,
    /// Asks when the next row is due: an attempt ended, and its row, or the one after it, may be due.
    NextAt,
}

impl<Q, R> Driver<Q, R>
where
    Q: Queue,
    R: Reconciler<Row = Q::Row>,
{
    /// A driver that shows what it does in `status`.
    pub fn new(queue: Arc<Q>, reconciler: Arc<R>, policy: Policy, status: Arc<Status>) -> Self {
        Self { queue, reconciler, policy: Arc::new(policy), status }
    }

    /// Works until it is stopped, and ends when nothing is worked on any more.
    pub async fn run(self, stop: CancellationToken) {
        let mut running = JoinSet::new();
        let (mut next_step, mut until) = (Some(Step::Take), Instant::now());
        let mut last = None;
        let mut more = false;
        'work: loop {
            let seen = loop {
                // Places that get free are filled together.
                let fill = more && running.len() * 2 <= self.policy.at_once;
                if next_step.is_some()
                    && (running.is_empty()
                        || fill
                        || last.is_none_or(|last: Instant| last.elapsed() >= MIN_INTERVAL))
                    && running.len() < self.policy.at_once
                {
                    break next_step.unwrap_or(Step::NextAt);
                }
                let pause = match (next_step, last) {
                    (Some(_), Some(last)) if running.len() < self.policy.at_once => last + MIN_INTERVAL,
                    (Some(_), _) => Instant::now() + self.policy.longest_rest,
                    (None, _) => until,
                };
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break 'work,
                    Some(done) = running.join_next() => {
                        end_loudly(done);
                        if next_step.is_none() {
                            next_step = Some(if more { Step::Take } else { Step::NextAt });
                        }
                    }
                    marked = self.queue.marked(), if next_step != Some(Step::Take) => {
                        if !marked {
                            break 'work;
                        }
                        next_step = Some(Step::Take);
                    }
                    () = sleep_until(pause) => {
                        if next_step.is_none() {
                            next_step = Some(if running.is_empty() { Step::Take } else { Step::NextAt });
                        }
                    }
                }
            };
            self.status.mark_alive();
            last = Some(Instant::now());
            match self.take_due(seen, &mut running, &stop).await {
                Ok(Batch { rest, again }) => {
                    more = again;
                    next_step = again.then_some(Step::Take);
                    until = Instant::now() + rest;
                }
                Err(failure) => {
                    tracing::error!(
                        work = self.status.name(),
                        error = failure.message,
                        "due rows can't be taken"
                    );
                    (more, next_step) = (false, None);
                    until = Instant::now() + self.policy.shortest_rest;
                }
            }
        }
        while let Some(done) = running.join_next().await {
            end_loudly(done);
        }
    }

    /// Takes rows, unless it turns out that none is due.
    async fn take_due(
        &self,
        step: Step,
        running: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> Result<Batch, Failure> {
        if step == Step::NextAt {
            let next = self.queue.next_at().await?;
            if next.is_none_or(|next| next > self.queue.now()) {
                return Ok(Batch { rest: self.idle_for(next), again: false });
            }
        }
        let room = self.policy.at_once.saturating_sub(running.len());
        let taken = self.queue.take(room).await?;
        for row in taken.rows {
            running.spawn(self.clone().work_on(row, stop.clone()));
        }
        if taken.more {
            return Ok(Batch { rest: Duration::ZERO, again: true });
        }
        if !running.is_empty() {
            return Ok(Batch { rest: MEANWHILE, again: false });
        }
        Ok(Batch { rest: self.idle_for(self.queue.next_at().await?), again: false })
    }

    /// How long to rest until a moment; `None`: nothing is waited for.
    fn idle_for(&self, next: Option<Timestamp>) -> Duration {
        let longest = self.policy.longest_rest;
        next.map_or(longest, |next| {
            Duration::try_from(next.duration_since(self.queue.now())).unwrap_or_default()
        })
        .clamp(self.policy.shortest_rest, longest)
    }

    /// Works on one row, and gives it back.
    async fn work_on(self, row: Q::Row, stop: CancellationToken) {
        let label = row.label();
        let number = self.status.begin(label.clone(), row.attempts());
        let span = self.span(&label, row.attempts());
        let (end, ending) = self.attempt(&row, &stop).instrument(span.clone()).await;
        record(&span, &end);
        self.status.end(number, end);
        let Some(ending) = ending else {
            tracing::warn!(work = self.status.name(), row = label, "another worker has taken the row over");
            return;
        };
        match &ending {
            Ending::Failed { error, .. } => {
                tracing::warn!(
                    work = self.status.name(),
                    row = label,
                    attempt = row.attempts(),
                    error,
                    "an attempt failed"
                );
            }
            Ending::SetAside { error, .. } => {
                self.status.record_set_aside();
                tracing::error!(
                    work = self.status.name(),
                    row = label,
                    attempt = row.attempts(),
                    error,
                    "a row is set aside"
                );
            }
            Ending::Finished(_) | Ending::GivenBack => {}
        }
        if let Err(failure) = self.queue.complete(&row, ending).await {
            let (work, error) = (self.status.name(), failure.message);
            tracing::error!(work, row = label, error, "a row can't be given back; its lease will run out");
        }
    }

    /// An attempt as a span of a trace.
    fn span(&self, label: &str, attempt: u32) -> Span {
        let span = tracing::trace_span!(
            target: "assisted::trace",
            "work",
            otel.name = Empty,
            otel.status_code = Empty,
            work.row = label,
            work.attempt = attempt,
            work.outcome = Empty,
        );
        if !span.is_disabled() {
            span.record("otel.name", format!("work {}", self.status.name()));
        }
        span
    }

    /// One attempt: how it ended, and what is to become of the row; `None`: another worker has it.
    async fn attempt(&self, row: &Q::Row, stop: &CancellationToken) -> (End, Option<Ending>) {
        let attempts = row.attempts();
        if attempts > self.policy.most_failures && !row.has_failed() && !row.was_set_aside() {
            let error = format!("it was begun {attempts} times, and no attempt came to its end");
            return (End::Failed, Some(self.set_aside(error)));
        }
        let (reconciler, own) = (Arc::clone(&self.reconciler), row.clone());
        // A task of its own: a panic ends it alone, and its time is measured although it may never yield.
        let mut task = AbortOnDropHandle::new(tokio::spawn(
            async move { reconciler.reconcile(&own).await }.in_current_span(),
        ));
        let done = tokio::select! {
            done = timeout(self.policy.time_limit, &mut task) => done,
            () = self.keep(row) => return (End::Lost, None),
            () = stop.cancelled(), if self.policy.give_back => return (End::GivenBack, Some(Ending::GivenBack)),
        };
        match done {
            Ok(Ok(Ok(outcome))) => {
                let waits = match &outcome {
                    Outcome::Wait { reason } => Some(reason.clone()),
                    Outcome::Done | Outcome::After(_) => None,
                };
                (End::Finished { waits }, Some(Ending::Finished(outcome)))
            }
            Ok(Ok(Err(failure))) if failure.stale => {
                let (work, error) = (self.status.name(), failure.message);
                tracing::debug!(work, row = row.label(), error, "what the row was judged by has changed");
                (End::Finished { waits: None }, Some(Ending::Finished(Outcome::After(self.later(STALE)))))
            }
            Ok(Ok(Err(failure))) => {
                let most = if failure.passing { u32::MAX } else { self.policy.most_failures };
                (End::Failed, Some(self.failed(row, failure.message, most)))
            }
            Ok(Err(error)) => {
                let error = format!("a defect: the attempt panicked{}", panic_text(error));
                (End::Panicked, Some(self.failed(row, error, self.policy.most_crashes)))
            }
            Err(_) => {
                let error = format!("the attempt took longer than {} s", self.policy.time_limit.as_secs());
                (End::TimedOut, Some(self.failed(row, error, self.policy.most_crashes)))
            }
        }
    }

    /// Keeps a lease; returns when another worker has the row.
    async fn keep(&self, row: &Q::Row) {
        loop {
            sleep(self.policy.keep).await;
            match self.queue.keep(row).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(failure) => {
                    let (work, error) = (self.status.name(), failure.message);
                    tracing::warn!(work, row = row.label(), error, "a lease can't be kept");
                }
            }
        }
    }

    fn failed(&self, row: &Q::Row, error: String, most: u32) -> Ending {
        let attempts = row.attempts();
        if attempts >= most || row.was_set_aside() {
            return self.set_aside(error);
        }
        Ending::Failed { error, retry_at: self.later(self.policy.backoff.pause(attempts)) }
    }

    fn set_aside(&self, error: String) -> Ending {
        Ending::SetAside { error, retry_at: self.later(self.policy.aside) }
    }

    fn later(&self, pause: Duration) -> Timestamp {
        self.queue.now().checked_add(pause).unwrap_or(Timestamp::MAX)
    }
}

/// What came of taking rows.
struct Batch {
    /// How long nothing will be due.
    rest: Duration,
    /// Whether more rows are due than there was room for.
    again: bool,
}

/// Notes how an attempt ended.
fn record(span: &Span, end: &End) {
    let (outcome, is_error) = match end {
        End::Finished { waits: None } => ("finished", false),
        End::Finished { waits: Some(_) } => ("waits", false),
        End::Failed => ("failed", true),
        End::Panicked => ("panicked", true),
        End::TimedOut => ("timed out", true),
        End::Lost => ("lost", false),
        End::GivenBack => ("given back", false),
    };
    span.record("work.outcome", outcome);
    if is_error {
        span.record("otel.status_code", "ERROR");
    }
}

fn panic_text(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return String::new() };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.map(|text| format!(": {text}")).unwrap_or_default()
}

/// A panic of what supervises a row is a defect of the driver: the process ends loudly, and leases run out.
fn end_loudly(done: Result<(), JoinError>) {
    if let Err(error) = done
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
