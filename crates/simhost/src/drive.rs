//! Runs a simulation against a real service: one loop with a heap of what comes next, and a few kept connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assisted_wire::operation::BASE_PATH;
use hyper::Method;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::action::{ActionSink, Call, Effect, Process, Response};
use crate::connection::{Access, Connection};
use crate::load::Meter;
use crate::simulation::Simulation;

/// How long one request may take before the connection is given up.
const REQUEST: Duration = Duration::from_secs(60);
/// Between attempts to reach a service that is away.
const RETRY: Duration = Duration::from_millis(200);
/// Requests under way per connection above which machines are woken no more: a service that can't keep up slows the
/// simulation down, instead of filling the memory with what waits for it.
const UNDER_WAY: usize = 32;
/// How far what is due may fall behind before the simulated clock waits for it.
const BEHIND: Duration = Duration::from_millis(100);
/// Between two calls of the observer.
const OBSERVE: Duration = Duration::from_millis(250);

/// Where the service is, and how it is talked to.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: SocketAddr,
    pub access: Access,
    /// Connections; each carries one request at a time.
    pub connections: usize,
    /// How long a service may be away, for example while it is restarted.
    pub patience: Duration,
    /// Where the time that each request took is noted, if anywhere.
    pub meter: Option<Meter>,
}

/// Why a simulation could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error("the service at {address} has been away for {} s: {cause:#}", .patience.as_secs())]
    Away { address: SocketAddr, patience: Duration, cause: anyhow::Error },
    #[error("the service at {address} can't be reached: {cause:#}")]
    Unreachable { address: SocketAddr, cause: anyhow::Error },
    #[error("the service tells no default OpenShift version; give one")]
    NoVersion,
    #[error("the connections have ended")]
    Ended,
}

impl Target {
    /// A service without authentication.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            access: Access::default(),
            connections: 8,
            patience: Duration::from_secs(60),
            meter: None,
        }
    }

    async fn connect(&self) -> anyhow::Result<Connection> {
        Connection::with(self.address, &self.access).await
    }

    /// Whether the service is there, and speaks as it is spoken to.
    pub async fn reach(&self) -> Result<(), DriveError> {
        self.connect().await.map(drop).map_err(|cause| self.unreachable(cause))
    }

    /// The version that the service installs if nobody asks for another.
    pub async fn default_version(&self) -> Result<String, DriveError> {
        let path = format!("{BASE_PATH}/v2/openshift-versions");
        let asked = async { self.connect().await?.json(Method::GET, &path, &Value::Null).await };
        let versions = asked.await.map_err(|cause| self.unreachable(cause))?;
        let all = versions.as_object().into_iter().flatten();
        let default = all.into_iter().find(|(_, version)| version["default"] == true);
        default.map(|(name, _)| name.clone()).ok_or(DriveError::NoVersion)
    }

    fn unreachable(&self, cause: anyhow::Error) -> DriveError {
        DriveError::Unreachable { address: self.address, cause }
    }

    fn away(&self, cause: anyhow::Error) -> DriveError {
        DriveError::Away { address: self.address, patience: self.patience, cause }
    }
}

/// One connection's work: requests in, answers out, in order. A request that got no answer is sent again: everything that
/// machines send can be said twice.
async fn lane(
    target: Target,
    mut calls: mpsc::UnboundedReceiver<Call>,
    answers: mpsc::UnboundedSender<(Process, Response)>,
) -> Result<(), DriveError> {
    let mut connection = None;
    while let Some(call) = calls.recv().await {
        let mut away_since = None;
        let answer = loop {
            let attempt = async {
                let mut open = match connection.take() {
                    Some(open) => open,
                    None => target.connect().await?,
                };
                let sent = Instant::now();
                let answer = open.call(&call).await?;
                if let Some(meter) = &target.meter {
                    meter.record(sent.elapsed());
                }
                connection = Some(open);
                anyhow::Ok(answer)
            };
            let failed = match tokio::time::timeout(REQUEST, attempt).await {
                Ok(Ok(answer)) if !matches!(answer.status, 502..=504 | 507) => {
                    break Response { repeated: away_since.is_some(), ..answer };
                }
                Ok(Ok(answer)) => anyhow::anyhow!("it answers {}", answer.status),
                Ok(Err(error)) => error,
                Err(_) => anyhow::anyhow!("it does not answer within {} s", REQUEST.as_secs()),
            };
            tracing::debug!(path = call.path, error = format!("{failed:#}"), "sending again");
            if away_since.get_or_insert_with(Instant::now).elapsed() >= target.patience {
                return Err(target.away(failed));
            }
            tokio::time::sleep(RETRY).await;
        };
        if answers.send((call.from, answer)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Something to be done at a time; what was wanted first comes first.
struct Due {
    at: Duration,
    number: u64,
    effect: Effect,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// The connections, and what comes next.
struct Driver {
    due: BinaryHeap<Reverse<Due>>,
    number: u64,
    lanes: Vec<mpsc::UnboundedSender<Call>>,
    /// Requests without an answer yet.
    under_way: usize,
    /// Simulated time, and when it was read.
    clock: Duration,
    read: Instant,
    speed: f64,
}

impl Driver {
    fn new(lanes: Vec<mpsc::UnboundedSender<Call>>, speed: f64) -> Self {
        let (due, clock) = (BinaryHeap::new(), Duration::ZERO);
        Self { due, number: 0, lanes, under_way: 0, clock, read: Instant::now(), speed }
    }

    /// Reads the simulated clock. It stands still while the machines wait for a service that can't keep up, or for their
    /// turn: else those that wait longest would seem to do nothing.
    fn now(&mut self) -> Duration {
        let passed = std::mem::replace(&mut self.read, Instant::now()).elapsed();
        if !self.is_busy() {
            let mut now = self.clock + passed.mul_f64(self.speed);
            if let Some(Reverse(due)) = self.due.peek() {
                now = now.min(due.at + BEHIND.mul_f64(self.speed));
            }
            self.clock = self.clock.max(now);
        }
        self.clock
    }

    fn outbox(&mut self) -> ActionSink {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        ActionSink::new(self.now(), i64::try_from(unix).unwrap_or(i64::MAX))
    }

    /// Takes what is wanted.
    fn put(&mut self, mut out: ActionSink) {
        for (delay, effect) in out.take() {
            match effect {
                Effect::Send(call) if delay.is_zero() => self.send(call),
                effect => {
                    self.number += 1;
                    self.due.push(Reverse(Due { at: out.now + delay, number: self.number, effect }));
                }
            }
        }
    }

    /// Whoever sent something before gets the same connection again, and so does whoever reports on the same host: requests arrive in
    /// order, and what the bootstrap saw of a node comes before what the controller saw later.
    fn send(&mut self, call: Call) {
        self.under_way += 1;
        let (Process::User(index)
        | Process::Controller(index)
        | Process::Agent(index)
        | Process::Step(index, _)
        | Process::Installer(index)) = call.from;
        let index = call.about.unwrap_or(index);
        if let Some(lane) = self.lanes.get(index as usize % self.lanes.len().max(1)) {
            // A lane that has ended is noticed where its outcome is awaited.
            let _ = lane.send(call);
        }
    }

    fn is_busy(&self) -> bool {
        self.under_way >= UNDER_WAY * self.lanes.len()
    }

    /// What is due, if something is, and the service keeps up.
    fn next(&mut self, now: Duration) -> Option<Effect> {
        if self.is_busy() || self.due.peek()?.0.at > now {
            return None;
        }
        self.due.pop().map(|Reverse(due)| due.effect)
    }

    /// Gives a machine the answer that it waits for.
    fn answer(&mut self, simulation: &mut Simulation, process: Process, answer: &Response) {
        self.under_way = self.under_way.saturating_sub(1);
        let mut out = self.outbox();
        simulation.answered(process, answer, &mut out);
        self.put(out);
    }

    /// Real time until something is due.
    fn pause(&mut self) -> Duration {
        if self.is_busy() {
            return OBSERVE;
        }
        let now = self.now();
        let wait = |Reverse(due): &Reverse<Due>| due.at.saturating_sub(now).div_f64(self.speed);
        self.due.peek().map_or(OBSERVE, wait).min(OBSERVE)
    }
}

/// Runs a simulation until it is over, or until `limit` of real time has passed. `observe` sees it several times a second,
/// and ends it by answering false. Returns the simulated time that has passed.
pub async fn run(
    simulation: &mut Simulation,
    target: &Target,
    limit: Duration,
    mut observe: impl FnMut(&Simulation, Duration) -> bool,
) -> Result<Duration, DriveError> {
    let (answer, mut answers) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    let lanes = (0..target.connections.max(1)).map(|_| {
        let (call, calls) = mpsc::unbounded_channel();
        tasks.spawn(lane(target.clone(), calls, answer.clone()));
        call
    });
    let lanes = lanes.collect();
    let speed = simulation.plan().speed;
    let (mut driver, started) = (Driver::new(lanes, speed), Instant::now());
    let mut out = driver.outbox();
    simulation.start(&mut out);
    driver.put(out);
    let mut observed = Instant::now();
    while !simulation.is_over() && started.elapsed() < limit {
        let mut out = driver.outbox();
        if let Some(effect) = driver.next(out.now) {
            match effect {
                Effect::Wake(process) => simulation.woken(process, &mut out),
                Effect::Send(call) => driver.send(call),
            }
            driver.put(out);
            // Answers must not wait for a long queue of what is overdue.
            while let Ok((process, answer)) = answers.try_recv() {
                driver.answer(simulation, process, &answer);
            }
        } else {
            tokio::select! {
                received = answers.recv() => {
                    let Some((process, answer)) = received else { return Err(DriveError::Ended) };
                    driver.answer(simulation, process, &answer);
                }
                () = tokio::time::sleep(driver.pause()) => {}
            }
        }
        if observed.elapsed() >= OBSERVE {
            observed = Instant::now();
            if let Some(ended) = tasks.try_join_next() {
                return Err(
                    ended.map_or(DriveError::Ended, |outcome| outcome.err().unwrap_or(DriveError::Ended))
                );
            }
            if !observe(simulation, driver.now()) {
                break;
            }
            // Lets the connections work when the simulation never pauses.
            tokio::task::yield_now().await;
        }
    }
    let now = driver.now();
    observe(simulation, now);
    Ok(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Timer;

    #[test]
    fn reports_on_a_host_take_one_connection() {
        let (lanes, mut calls): (Vec<_>, Vec<_>) = (0..3).map(|_| mpsc::unbounded_channel()).unzip();
        let mut driver = Driver::new(lanes, 1.0);
        let call = |from| Call::get(from, "/".to_owned());
        driver.send(call(Process::Installer(4)));
        driver.send(call(Process::Installer(2)).about(4));
        driver.send(call(Process::Controller(0)).about(4));
        driver.send(call(Process::Controller(0)));
        let mut came = |lane: usize| std::iter::from_fn(|| calls[lane].try_recv().ok()).count();
        assert_eq!([came(0), came(1), came(2)], [1, 3, 0]);
    }

    #[test]
    fn the_clock_waits_for_machines_that_wait() {
        let hour = Duration::from_secs(3600);
        let (lane, _calls) = mpsc::unbounded_channel();
        let mut driver = Driver::new(vec![lane], 1e6);
        let mut out = ActionSink::new(Duration::ZERO, 0);
        Timer::default().set(hour, Process::User(0), &mut out);
        driver.put(out);
        let second_passes = |driver: &mut Driver| driver.read -= Duration::from_secs(1);
        second_passes(&mut driver);
        let behind = BEHIND.mul_f64(1e6);
        assert_eq!(driver.now(), hour + behind, "it waits for what is due");
        assert!(driver.next(hour + behind).is_some());
        driver.under_way = UNDER_WAY;
        second_passes(&mut driver);
        assert_eq!(driver.now(), hour + behind, "it waits for answers");
        driver.under_way = 0;
        second_passes(&mut driver);
        assert!(driver.now() >= hour + behind + Duration::from_secs(1_000_000), "and goes on");
    }
}
