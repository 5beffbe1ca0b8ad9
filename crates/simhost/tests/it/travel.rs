//! Simulations in a time of their own: the service's clock is the simulation's, and it leaps to whatever comes next. What
//! takes a day is over in a second, each time limit is met to the second, and nothing depends on how fast the machine is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assisted_service::Clock;
use assisted_simhost::action::{ActionSink, Call, Effect, Process};
use assisted_simhost::connection::Connection;
use assisted_simhost::simulation::Simulation;
use assisted_wire::operation::BASE_PATH;
use hyper::Method;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::service::{Data, Otherwise, Server};

/// No installation takes longer, whatever goes wrong.
const LONGEST: Duration = Duration::from_secs(30 * 3600);
/// How long it goes on when all users are content: logs are sent, other hosts notice.
const LINGER: Duration = Duration::from_secs(15 * 60);
/// How long the service may work on one thing, in real time, before it is taken to hang.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Simulated time as the service sees it.
#[derive(Clone)]
struct Time(Arc<AtomicI64>);

impl Time {
    fn start() -> Timestamp {
        Timestamp::constant(1_767_323_045, 0)
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(self.0.load(Ordering::SeqCst))).unwrap()
    }

    fn set(&self, since_start: Duration) {
        let now = Self::start() + since_start;
        self.0.store(i64::try_from(now.as_nanosecond()).unwrap(), Ordering::SeqCst);
    }
}

/// What the service warns of.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Warnings {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Warnings {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A service, and the time that it lives in. Everything runs on one thread, so that its warnings can be told from those of
/// other tests.
pub(crate) struct Travel {
    server: Server,
    connection: Connection,
    time: Time,
    warnings: Warnings,
    /// Change when there is something to do that there was not: else nothing has to come to rest.
    marks: [watch::Receiver<u64>; 2],
    _log: tracing::subscriber::DefaultGuard,
}

impl Travel {
    pub(crate) async fn start(data: &Data, otherwise: Otherwise) -> Self {
        let warnings = Warnings::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::WARN)
            .with_ansi(false)
            .without_time()
            .with_writer(warnings.clone())
            .finish();
        let log = tracing::subscriber::set_default(subscriber);
        let time = Time(Arc::default());
        time.set(Duration::ZERO);
        let clock = Clock::new({
            let time = time.clone();
            move || time.now()
        });
        let server = Server::with(data, Otherwise { clock, ..otherwise }).await;
        let connection = Connection::open(server.address).await.unwrap();
        let marks = [server.store.due_marks(), server.store.action_marks()];
        Self { server, connection, time, warnings, marks, _log: log }
    }

    /// Runs a simulation until everyone is content, and a while longer.
    pub(crate) async fn run(&mut self, simulation: &mut Simulation) -> Duration {
        let mut heap = BinaryHeap::new();
        let mut effects: BTreeMap<u64, Effect> = BTreeMap::new();
        let mut number = 0;
        let mut now = Duration::ZERO;
        let mut until = LONGEST;
        let mut out = self.outbox(now);
        simulation.start(&mut out);
        let mut due_at = self.wait_until_idle().await;
        loop {
            for (delay, effect) in out.take() {
                heap.push(Reverse((now + delay, number)));
                effects.insert(number, effect);
                number += 1;
            }
            if simulation.is_over() && until == LONGEST {
                until = now + LINGER;
            }
            let deed_at = heap.peek().map(|Reverse((at, _))| *at);
            let next = deed_at.into_iter().chain(due_at).min().unwrap_or(until);
            if next >= until {
                return now;
            }
            now = next.max(now);
            self.time.set(now);
            out = self.outbox(now);
            if due_at.is_some_and(|at| at <= now) {
                self.server.service.work().notify();
            } else if let Some(Reverse((_, next))) = heap.pop() {
                match effects.remove(&next).unwrap() {
                    Effect::Wake(process) => {
                        simulation.woken(process, &mut out);
                        continue;
                    }
                    Effect::Send(call) => {
                        let answer = self.connection.call(&call).await.unwrap();
                        simulation.answered(call.from, &answer, &mut out);
                        if !self.marks.iter().any(|marks| marks.has_changed().unwrap()) {
                            continue;
                        }
                    }
                }
            }
            due_at = self.wait_until_idle().await;
        }
    }

    fn outbox(&self, now: Duration) -> ActionSink {
        ActionSink::new(now, self.time.now().as_second())
    }

    /// Waits until the service has done everything that it has to do now; tells when it has something to do of itself, in
    /// simulated time.
    async fn wait_until_idle(&mut self) -> Option<Duration> {
        let since = Instant::now();
        self.marks.iter_mut().for_each(watch::Receiver::mark_unchanged);
        while !self.server.store.is_idle(self.time.now()).await.unwrap() {
            assert!(since.elapsed() < TIMEOUT, "the service does not come to rest: {}", self.warnings());
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        let store = &self.server.store;
        let (due, action) = (store.next_due_at().await.unwrap(), store.next_action_at().await.unwrap());
        let next = due.into_iter().chain(action).min()?;
        Some(Duration::try_from(next.duration_since(Time::start())).unwrap_or_default())
    }

    /// What the service warned of.
    pub(crate) fn warnings(&self) -> String {
        String::from_utf8(self.warnings.0.lock().unwrap().clone()).unwrap()
    }

    /// The answer to a request that has to succeed.
    pub(crate) async fn get(&mut self, path: &str) -> Value {
        self.connection.json(Method::GET, &format!("{BASE_PATH}/v2/{path}"), &Value::Null).await.unwrap()
    }

    /// A file that has to be there.
    pub(crate) async fn download(&mut self, path: &str) -> Vec<u8> {
        let call = Call::get(Process::User(0), format!("{BASE_PATH}/v2/{path}"));
        let answer = self.connection.call(&call).await.unwrap();
        assert!(answer.is_success(), "{path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
        answer.body.to_vec()
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }
}
