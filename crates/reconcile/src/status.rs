//! What a driver does at the moment, and what it has done.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Rows of which it is remembered why they wait.
const MOST_WAITING: usize = 1000;

/// Shared between a driver and those who look at it.
#[derive(Debug)]
pub struct Status {
    name: &'static str,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    looked: Instant,
    next: u64,
    running: BTreeMap<u64, (String, u32, Instant)>,
    waiting: HashMap<String, String>,
    /// The labels of those that wait, oldest first.
    order: VecDeque<String>,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    finished: u64,
    failed: u64,
    panicked: u64,
    timed_out: u64,
    set_aside: u64,
    lost: u64,
    busy: Duration,
    longest: Duration,
}

/// A row that is worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub label: String,
    pub attempts: u32,
    /// How long it has been worked on.
    pub elapsed: Duration,
}

/// A row that can't go on until something else changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub label: String,
    pub reason: String,
}

/// What a driver does at the moment, and what it has done since it began.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub name: &'static str,
    /// How long ago it last looked for rows.
    pub looked: Duration,
    /// Longest first.
    pub running: Vec<Running>,
    /// Of those that waited last, at most 1000.
    pub waiting: Vec<Waiting>,
    /// Attempts that ended well.
    pub finished: u64,
    /// Attempts that came to nothing, of all kinds but lost leases.
    pub failed: u64,
    pub panicked: u64,
    pub timed_out: u64,
    /// How often a row was set aside.
    pub set_aside: u64,
    /// Attempts whose lease another worker got.
    pub lost: u64,
    /// Time spent on all attempts together.
    pub busy: Duration,
    /// The longest attempt.
    pub longest: Duration,
}

/// How an attempt ended, for the counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Finished { waits: Option<String> },
    Failed,
    Panicked,
    TimedOut,
    Lost,
    GivenBack,
}

impl Status {
    /// Of a driver of this name that has done nothing yet.
    pub fn new(name: &'static str) -> Self {
        let state = State {
            looked: Instant::now(),
            next: 0,
            running: BTreeMap::new(),
            waiting: HashMap::new(),
            order: VecDeque::new(),
            counts: Counts::default(),
        };
        Self { name, state: Mutex::new(state) }
    }

    /// The name of its driver.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How long ago the driver last looked for rows.
    pub fn rested(&self) -> Duration {
        self.state.lock().looked.elapsed()
    }

    /// What there is to see.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.state.lock();
        let running = state.running.values().map(|(label, attempts, since)| Running {
            label: label.clone(),
            attempts: *attempts,
            elapsed: since.elapsed(),
        });
        let waiting = state.order.iter().filter_map(|label| {
            let reason = state.waiting.get(label)?.clone();
            Some(Waiting { label: label.clone(), reason })
        });
        let counts = state.counts;
        Snapshot {
            name: self.name,
            looked: state.looked.elapsed(),
            running: running.collect(),
            waiting: waiting.collect(),
            finished: counts.finished,
            failed: counts.failed,
            panicked: counts.panicked,
            timed_out: counts.timed_out,
            set_aside: counts.set_aside,
            lost: counts.lost,
            busy: counts.busy,
            longest: counts.longest,
        }
    }

    /// Notes that its driver is alive.
    pub fn mark_alive(&self) {
        self.state.lock().looked = Instant::now();
    }

    /// Notes that a row is begun; the number is for its end.
    pub(crate) fn begin(&self, label: String, attempts: u32) -> u64 {
        let mut state = self.state.lock();
        if state.waiting.remove(&label).is_some() {
            state.order.retain(|known| *known != label);
        }
        state.next += 1;
        let number = state.next;
        state.running.insert(number, (label, attempts, Instant::now()));
        number
    }

    pub(crate) fn end(&self, number: u64, end: End) {
        let mut state = self.state.lock();
        let Some((label, _, since)) = state.running.remove(&number) else { return };
        let took = since.elapsed();
        let counts = &mut state.counts;
        counts.busy += took;
        counts.longest = counts.longest.max(took);
        match end {
            End::Finished { waits } => {
                counts.finished += 1;
                if let Some(reason) = waits {
                    state.wait(label, reason);
                }
            }
            End::Failed => counts.failed += 1,
            End::Panicked => {
                counts.failed += 1;
                counts.panicked += 1;
            }
            End::TimedOut => {
                counts.failed += 1;
                counts.timed_out += 1;
            }
            End::Lost => counts.lost += 1,
            End::GivenBack => {}
        }
    }

    pub(crate) fn record_set_aside(&self) {
        self.state.lock().counts.set_aside += 1;
    }
}

impl State {
    fn wait(&mut self, label: String, reason: String) {
        if self.waiting.insert(label.clone(), reason).is_none() {
            self.order.push_back(label);
        }
        if self.order.len() > MOST_WAITING
            && let Some(oldest) = self.order.pop_front()
        {
            self.waiting.remove(&oldest);
        }
    }
}
