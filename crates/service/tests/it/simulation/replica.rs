//! One replica of the service: a runtime of its own, and wires to database and bucket that can be cut.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assisted_blob::{Blob, S3};
use assisted_config::{Generator, Settings};
use assisted_service::generator::Simulation;
use assisted_service::{Background, Clock, Service};
use assisted_store::{Options, Store};
use assisted_testkit::{Bucket, Hole};
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::{Builder, Handle, Runtime};

use super::plan::{Disturbance, Kind, Plan};
use super::world::Place;
use crate::lab::AGENT;

/// How long a start may take, with connections that break.
const START: Duration = Duration::from_secs(60);

/// A statement's limit: a silent database is noticed within the time of a test.
const STATEMENT_LIMIT: Duration = Duration::from_secs(2);

pub struct Replica {
    database: Hole,
    files: Hole,
    place: Arc<Place>,
    /// How much the clock of its machine is ahead, in seconds.
    ahead: Arc<AtomicI64>,
    running: Mutex<Option<Running>>,
}

struct Running {
    runtime: Runtime,
    service: Service,
}

impl Replica {
    pub async fn start(place: Arc<Place>, plan: &Plan, number: usize) -> Self {
        let replica = Self {
            database: Hole::before_socket(place.socket.clone()).await.unwrap(),
            files: Hole::before(place.bucket_port).await.unwrap(),
            place,
            ahead: Arc::new(AtomicI64::new(plan.replicas[number])),
            running: Mutex::default(),
        };
        replica.run().await;
        let wire = 2 * number as u64;
        replica.database.on_each(plan.faults(wire));
        replica.files.on_each(plan.faults(wire + 1));
        replica
    }

    /// Where calls to it run, unless it is down.
    pub fn service(&self) -> Option<(Handle, Service)> {
        let running = self.running.lock().unwrap();
        running.as_ref().map(|running| (running.runtime.handle().clone(), running.service.clone()))
    }

    /// Starts, or starts again.
    async fn run(&self) {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (place, ahead) = (Arc::clone(&self.place), Arc::clone(&self.ahead));
        let (database, files) = (self.database.port(), self.files.port());
        let started = runtime.spawn(async move {
            let begun = Instant::now();
            loop {
                match open(&place, database, files, &ahead).await {
                    Ok(started) => return started,
                    // A real one is started again by whoever started it.
                    Err(why) => assert!(begun.elapsed() < START, "a replica does not start: {why}"),
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let (service, mut background) = started.await.unwrap();
        runtime.spawn(async move {
            let failed = background.failed().await;
            // What is cancelled ends with the runtime.
            assert!(failed.is_none_or(|error| error.is_cancelled()), "a background task has ended");
        });
        *self.running.lock().unwrap() = Some(Running { runtime, service });
    }

    /// Is gone at once: nothing that it is about to say is heard any more.
    fn crash(&self) {
        self.database.break_all();
        self.files.break_all();
        if let Some(running) = self.running.lock().unwrap().take() {
            running.runtime.shutdown_background();
        }
    }

    pub async fn suffer(&self, disturbance: Disturbance) {
        match disturbance.kind {
            Kind::Crash => self.crash(),
            Kind::Partition => {
                self.database.break_all();
                self.files.break_all();
            }
            Kind::SilentDatabase => self.database.open(true),
            Kind::NoFiles => self.files.break_all(),
            Kind::Break => {
                self.database.break_all();
                self.files.break_all();
                self.mend();
                return;
            }
            Kind::ClockJump(seconds) => {
                self.ahead.fetch_add(seconds, Ordering::SeqCst);
                return;
            }
        }
        tokio::time::sleep(disturbance.lasts).await;
        self.mend();
        if matches!(disturbance.kind, Kind::Crash) {
            self.run().await;
        }
    }

    /// Wires pass everything on.
    fn mend(&self) {
        self.database.open(false);
        self.files.open(false);
    }

    /// From now on nothing happens to it.
    pub fn calm(&self) {
        self.database.on_each(|| assisted_testkit::HoleFault::None);
        self.files.on_each(|| assisted_testkit::HoleFault::None);
        self.mend();
    }

    pub fn stop(&self) {
        self.crash();
    }
}

async fn open(
    place: &Place,
    database: u16,
    files: u16,
    ahead: &Arc<AtomicI64>,
) -> Result<(Service, Background), String> {
    let options = Options { statement_limit: STATEMENT_LIMIT, ..Options::default() };
    let address = format!("postgres://assisted@127.0.0.1:{database}/{}?sslmode=disable", place.database);
    let store = Store::open_with(&address, &options).await.map_err(|error| error.to_string())?;
    let endpoint = format!("http://127.0.0.1:{files}").parse().unwrap();
    let Bucket { name, access_key, secret_key, .. } = place.bucket.clone();
    let blob = Blob::bucket(S3::at(endpoint, name, access_key, secret_key))
        .await
        .map_err(|error| error.to_string())?;
    let mut settings = Settings::default();
    settings.images.agent = AGENT.to_owned();
    settings.http.image_service_base_url = "https://images.example.com".to_owned();
    settings.generation.generator = Generator::Simulation;
    let ahead = Arc::clone(ahead);
    let clock =
        Clock::following(move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::SeqCst)));
    let builder = Service::builder(settings, store, blob, Arc::new(Simulation)).unwrap();
    Ok(builder.clock(clock).start())
}
