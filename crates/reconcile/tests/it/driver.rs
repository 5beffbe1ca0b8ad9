//! What becomes of rows that are slow, fail, panic or hang.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::Backoff;
use assisted_reconcile::{Driver, Failure, MemoryQueue, MemoryRow, Outcome, Policy, Reconciler, Status};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What a row is to do when it is worked on.
#[derive(Clone, Debug)]
enum Behaviour {
    Done,
    After(SignedDuration),
    Wait,
    Fail,
    FailPassing,
    Panic,
    /// Waits for ever.
    Hang,
    /// Waits until the gate lets it pass.
    Gate,
}

struct World {
    deeds: Mutex<HashMap<String, Behaviour>>,
    /// How often each row was begun.
    begun: Mutex<HashMap<String, u32>>,
    ended: Mutex<HashMap<String, u32>>,
    changed: Notify,
    gate: Semaphore,
}

impl Reconciler for World {
    type Row = MemoryRow<String>;

    async fn reconcile(&self, row: &Self::Row) -> Result<Outcome, Failure> {
        *self.begun.lock().entry(row.key.clone()).or_default() += 1;
        self.changed.notify_waiters();
        let deed = self.deeds.lock().get(&row.key).cloned().unwrap();
        let outcome = match deed {
            Behaviour::Done => Ok(Outcome::Done),
            Behaviour::After(pause) => Ok(Outcome::After(Timestamp::now() + pause)),
            Behaviour::Wait => Ok(Outcome::Wait { reason: "for a friend".to_owned() }),
            Behaviour::Fail => Err(Failure::of_row("no luck")),
            Behaviour::FailPassing => Err(Failure::passing("the disk is full")),
            Behaviour::Panic => panic!("a number is too large"),
            Behaviour::Hang => std::future::pending().await,
            Behaviour::Gate => {
                self.gate.acquire().await.unwrap().forget();
                Ok(Outcome::Done)
            }
        };
        *self.ended.lock().entry(row.key.clone()).or_default() += 1;
        self.changed.notify_waiters();
        outcome
    }
}

struct Lab {
    world: Arc<World>,
    queue: Arc<MemoryQueue<String>>,
    status: Arc<Status>,
    stop: CancellationToken,
    driver: JoinHandle<()>,
}

fn policy() -> Policy {
    Policy {
        at_once: 4,
        time_limit: Duration::from_secs(60),
        keep: Duration::from_millis(50),
        backoff: Backoff::constant(Duration::from_millis(1)),
        most_failures: 5,
        most_crashes: 2,
        aside: Duration::from_secs(3600),
        longest_rest: Duration::from_secs(60),
        shortest_rest: Duration::from_millis(1),
        give_back: false,
    }
}

impl Lab {
    fn start(policy: Policy) -> Self {
        let world = Arc::new(World {
            deeds: Mutex::default(),
            begun: Mutex::default(),
            ended: Mutex::default(),
            changed: Notify::new(),
            gate: Semaphore::new(0),
        });
        let queue = Arc::new(MemoryQueue::new(SignedDuration::from_secs(1), Timestamp::now));
        let (status, stop) = (Arc::new(Status::new("test")), CancellationToken::new());
        let driver = Driver::new(Arc::clone(&queue), Arc::clone(&world), policy, Arc::clone(&status));
        let driver = tokio::spawn(driver.run(stop.clone()));
        Self { world, queue, status, stop, driver }
    }

    fn add(&self, key: &str, deed: Behaviour) {
        self.world.deeds.lock().insert(key.to_owned(), deed);
        self.queue.mark(key.to_owned(), Timestamp::now());
    }

    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                let _ = tokio::time::timeout(Duration::from_millis(10), self.world.changed.notified()).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("not {what}"));
    }

    fn ended(&self, key: &str) -> u32 {
        self.world.ended.lock().get(key).copied().unwrap_or_default()
    }

    fn begun(&self, key: &str) -> u32 {
        self.world.begun.lock().get(key).copied().unwrap_or_default()
    }

    fn aside(&self) -> Vec<String> {
        self.queue.set_aside().into_iter().map(|(key, _)| key).collect()
    }

    async fn stop(self) {
        self.stop.cancel();
        self.driver.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_rows_hold_up_no_other() {
    let lab = Lab::start(policy());
    for key in ["slow-1", "slow-2", "slow-3"] {
        lab.add(key, Behaviour::Gate);
    }
    lab.until("all slow rows begun", |lab| (1..=3).all(|n| lab.begun(&format!("slow-{n}")) == 1)).await;
    for n in 0..200 {
        lab.add(&format!("quick-{n}"), Behaviour::Done);
    }
    lab.until("all quick rows done", |lab| (0..200).all(|n| lab.ended(&format!("quick-{n}")) == 1)).await;
    // A row ends, and then it is counted.
    let counts = |lab: &Lab| {
        let seen = lab.status.snapshot();
        (seen.running.len(), seen.finished)
    };
    lab.until("all counted", |lab| counts(lab) == (3, 200)).await;
    assert_eq!(counts(&lab), (3, 200));
    // Longer than a lease lasts unless it is kept.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(lab.begun("slow-1"), 1, "its lease was kept");
    lab.world.gate.add_permits(3);
    lab.until("the slow rows done", |lab| lab.ended("slow-3") == 1).await;
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_during_an_attempt_brings_another() {
    let lab = Lab::start(policy());
    lab.add("row", Behaviour::Gate);
    lab.until("begun", |lab| lab.begun("row") == 1).await;
    for _ in 0..50 {
        lab.queue.mark("row".to_owned(), Timestamp::now());
    }
    lab.world.gate.add_permits(2);
    lab.until("done twice", |lab| lab.ended("row") == 2).await;
    lab.add("again", Behaviour::After(SignedDuration::from_millis(5)));
    lab.until("looked at again and again", |lab| lab.ended("again") >= 3).await;
    assert_eq!(lab.ended("row"), 2);
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_fail_panic_or_hang_are_set_aside_and_released() {
    let lab = Lab::start(Policy { time_limit: Duration::from_secs(1), ..policy() });
    for (key, deed) in [("fails", Behaviour::Fail), ("panics", Behaviour::Panic), ("hangs", Behaviour::Hang)]
    {
        lab.add(key, deed);
    }
    lab.until("all set aside", |lab| lab.aside().len() == 3).await;
    assert_eq!([lab.begun("fails"), lab.begun("panics"), lab.begun("hangs")], [5, 2, 2]);
    let errors: HashMap<_, _> = lab.queue.set_aside().into_iter().collect();
    assert_eq!(errors["fails"].as_deref(), Some("no luck"));
    assert_eq!(errors["panics"].as_deref(), Some("a defect: the attempt panicked: a number is too large"));
    assert_eq!(errors["hangs"].as_deref(), Some("the attempt took longer than 1 s"));
    let seen = lab.status.snapshot();
    assert_eq!((seen.set_aside, seen.panicked, seen.timed_out, seen.failed), (3, 2, 2, 9));

    // Whatever changes, it is left alone; the driver is at work.
    lab.add("fails", Behaviour::Fail);
    lab.add("other", Behaviour::Done);
    lab.until("the other done", |lab| lab.ended("other") == 1).await;
    assert_eq!(lab.begun("fails"), 5);

    lab.world.deeds.lock().insert("fails".to_owned(), Behaviour::Done);
    assert!(lab.queue.release(&"fails".to_owned()));
    assert!(!lab.queue.release(&"other".to_owned()));
    lab.until("released", |lab| lab.begun("fails") == 6 && lab.aside().len() == 2).await;
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_outside_of_a_row_sets_none_aside() {
    let lab = Lab::start(policy());
    lab.add("row", Behaviour::FailPassing);
    lab.until("tried often", |lab| lab.begun("row") > 8).await;
    assert!(lab.aside().is_empty());
    lab.world.deeds.lock().insert("row".to_owned(), Behaviour::Wait);
    lab.until("waiting", |lab| !lab.status.snapshot().waiting.is_empty()).await;
    let waiting = lab.status.snapshot().waiting;
    assert_eq!((waiting[0].label.as_str(), waiting[0].reason.as_str()), ("row", "for a friend"));
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_worked_on_at_the_end_is_given_back_or_finished() {
    let lab = Lab::start(Policy { give_back: true, ..policy() });
    lab.add("row", Behaviour::Hang);
    lab.until("begun", |lab| lab.begun("row") == 1).await;
    lab.stop().await;

    let lab = Lab::start(policy());
    lab.add("row", Behaviour::Gate);
    lab.until("begun", |lab| lab.begun("row") == 1).await;
    lab.stop.cancel();
    lab.world.gate.add_permits(1);
    lab.until("finished", |lab| lab.ended("row") == 1).await;
    lab.stop().await;
}
