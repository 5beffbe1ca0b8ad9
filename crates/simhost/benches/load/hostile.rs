//! What a hostile machine's reports cost everybody else: how much longer `/health`, a poll and a report of another cluster take beside
//! them, and the polls of many other hosts.

use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use assisted_simhost::connection::Connection;
use assisted_simhost::host::SimHost;
use bytes::Bytes;
use hyper::Method;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::populate::{Arrivals, HOSTS_PER_CLUSTER, clusters};
use super::report::{Figure, heading, line, ms};
use super::service::{Engine, Service};
use super::shapes::Shape;
use super::{crowd, visible};

/// Number of the first hostile cluster: each shape has one of its own, whose hosts all send it.
const FIRST: u32 = 200_000;
/// Reports that are answered at the least while others are measured.
const ANSWERS: u32 = 2 * HOSTS_PER_CLUSTER;
/// How long they are measured beyond that: what was sent last is judged, too.
const AFTER: Duration = Duration::from_secs(3);
/// When so few reports are answered that something is wrong.
const LIMIT: Duration = Duration::from_secs(300);
/// From one look at how long an answer takes to the next.
const PAUSE: Duration = Duration::from_millis(5);
/// From one small write that the disk flushes to the next.
const FLUSH_PAUSE: Duration = Duration::from_millis(20);
/// In which each of many other hosts polls once.
const MINUTE: Duration = Duration::from_secs(60);

/// What others had to wait at the longest.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    health: Duration,
    poll: Duration,
    /// From a report until what follows from it is seen.
    judged: Duration,
    /// The polls of the many other hosts, of which 1 % took longer.
    crowd: Duration,
    /// Until the disk has flushed a small write of somebody else: no commit beside it is faster.
    flush: Duration,
}

impl Waits {
    /// How much more it is than what they wait anyway.
    fn beyond(self, rest: Self) -> Self {
        Self {
            health: self.health.saturating_sub(rest.health),
            poll: self.poll.saturating_sub(rest.poll),
            judged: self.judged.saturating_sub(rest.judged),
            crowd: self.crowd.saturating_sub(rest.crowd),
            flush: self.flush.saturating_sub(rest.flush),
        }
    }

    /// The longest of both.
    fn or(self, other: Self) -> Self {
        Self {
            health: self.health.max(other.health),
            poll: self.poll.max(other.poll),
            judged: self.judged.max(other.judged),
            crowd: self.crowd.max(other.crowd),
            flush: self.flush.max(other.flush),
        }
    }
}

/// Between those who send and those who measure.
#[derive(Debug, Default)]
struct Signals {
    /// Nothing more is sent.
    stop: AtomicBool,
    /// Nothing more is measured.
    over: AtomicBool,
    taken: AtomicU32,
    refused: AtomicU32,
}

impl Signals {
    fn answers(&self) -> [u32; 2] {
        [&self.taken, &self.refused].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Those who are measured.
struct Others<'a> {
    service: &'a Service,
    neighbour: &'a SimHost,
    crowd: &'a [SimHost],
    /// How long beside each shape.
    span: Duration,
}

/// Measures these shapes, beside so many other hosts that poll once a minute.
pub async fn run(
    engine: Engine,
    program: &Path,
    others: u32,
    span: Duration,
    shapes: &[&Shape],
) -> Result<()> {
    let service = Service::start(engine, program, &[]).await?;
    let mut hosts = clusters(service.address, &service.version, 0..1).await?;
    Arrivals::new(&hosts)?.register(service.address, hosts.len()).await?;
    if others > 0 {
        heading(&format!("{others} other hosts, service on {engine}"));
        let all = others.next_multiple_of(HOSTS_PER_CLUSTER) + HOSTS_PER_CLUSTER;
        crowd::gather(service.address, &service.version, &mut hosts, all, |_| ()).await?;
    }
    let (neighbours, crowd) = hosts.split_at(HOSTS_PER_CLUSTER as usize);
    let neighbour = neighbours.first().context("a cluster without hosts")?;
    // Who does not poll for three minutes counts as lost.
    let span = if crowd.is_empty() { span } else { span.max(MINUTE) };
    let others = Others { service: &service, neighbour, crowd, span };
    service.wait_until_idle().await?;

    println!("\nBeside reports of 16 MiB, service on {engine}; times in ms\n");
    println!(
        "| 16 MiB of | taken | refused | longest `/health` | longest poll of another cluster | its slowest report until seen | longest flush of the disk | polls of {} others, p99 |",
        crowd.len()
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (_, rest) = others.beside(Vec::new()).await?;
    row("nothing", [0, 0], rest);
    let mut worst = Waits::default();
    for (shape, number) in shapes.iter().zip(FIRST..) {
        let hostile = clusters(service.address, &service.version, number..number + 1).await?;
        Arrivals::new(&hostile)?.register(service.address, hostile.len()).await?;
        let senders = senders(shape, &hostile)?;
        service.wait_until_idle().await?;
        let (answers, waits) = others.beside(senders).await?;
        row(shape.name, answers, waits);
        worst = worst.or(waits.beyond(rest));
        // Its hosts are heard no more: that they are lost would be found out beside the next ones.
        remove(&service, &hostile).await?;
        service.wait_until_idle().await?;
    }
    heading(&format!("What they delay at the most, service on {engine}"));
    line("/health", ms(worst.health), "< 100");
    line("a poll of another cluster", ms(worst.poll), "< 100");
    line("a report of another cluster until it is seen", ms(worst.judged), "< 100");
    if !crowd.is_empty() {
        line(&format!("polls of {} other hosts, p99", crowd.len()), ms(worst.crowd), "< 100");
    }
    let (_, memory) = service.memory()?;
    line("a small write of somebody else on the same disk", ms(worst.flush), "");
    line("memory at its most", Figure::Mb(memory), "");
    Ok(())
}

/// A row of the table.
fn row(name: &str, [taken, refused]: [u32; 2], waits: Waits) {
    let [health, poll, judged, flush, crowd] =
        [waits.health, waits.poll, waits.judged, waits.flush, waits.crowd]
            .map(|wait| wait.as_secs_f64() * 1e3);
    println!(
        "| {name} | {taken} | {refused} | {health:.0} | {poll:.0} | {judged:.0} | {flush:.0} | {} |",
        if crowd > 0.0 { format!("{crowd:.0}") } else { String::new() }
    );
}

/// Where each hostile host sends its reports, and two of them. They are made beforehand, so that they come one upon the other.
type Sender = (String, [Bytes; 2]);

fn senders(shape: &Shape, hosts: &[SimHost]) -> Result<Vec<Sender>> {
    let pairs = hosts.iter().zip((0..).step_by(2));
    pairs
        .map(|(host, number)| {
            anyhow::Ok((host.instructions_path(), [shape.body(number)?, shape.body(number + 1)?]))
        })
        .collect()
}

/// Takes a cluster with its hosts away.
async fn remove(service: &Service, hosts: &[SimHost]) -> Result<()> {
    let host = hosts.first().context("a cluster without hosts")?;
    let mut connection = Connection::open(service.address).await?;
    let path = format!("/api/assisted-install/v2/infra-envs/{}", host.infra_env_id);
    let infra_env = connection.json(Method::GET, &path, &Value::Null).await?;
    let id = infra_env["cluster_id"].as_str().context("an infra-env without a cluster")?;
    let path = format!("/api/assisted-install/v2/clusters/{id}");
    let status = connection.send(Method::DELETE, &path, Bytes::new()).await?;
    ensure!(status.is_success(), "DELETE {path}: {status}");
    Ok(())
}

impl Others<'_> {
    /// What they wait while reports are sent, and how many were taken and refused.
    async fn beside(&self, senders: Vec<Sender>) -> Result<([u32; 2], Waits)> {
        let (address, signals) = (self.service.address, Arc::new(Signals::default()));
        let sending: Vec<_> = senders
            .into_iter()
            .map(|(path, bodies)| tokio::spawn(send(address, path, bodies, Arc::clone(&signals))))
            .collect();
        let health = tokio::spawn(longest(address, "/health".to_owned(), Arc::clone(&signals)));
        let poll = tokio::spawn(longest(address, self.neighbour.instructions_path(), Arc::clone(&signals)));
        let flush = {
            let (dir, signals) = (self.service.dir().to_owned(), Arc::clone(&signals));
            thread::spawn(move || longest_flush(&dir, &signals))
        };
        let (judged, crowd) = tokio::try_join!(self.judged(&sending, &signals), self.polls())?;
        signals.over.store(true, Ordering::Relaxed);
        for sender in sending {
            sender.await??;
        }
        let (health, poll) = (health.await??, poll.await??);
        let flush = flush.join().map_err(|_| anyhow!("the thread that writes to the disk panicked"))??;
        Ok((signals.answers(), Waits { health, poll, judged, crowd, flush }))
    }

    /// The longest that a report of the neighbour takes until it is seen: until enough was sent, and what came of it is judged.
    async fn judged(&self, sending: &[JoinHandle<Result<()>>], signals: &Signals) -> Result<Duration> {
        let (started, mut slowest, mut ended) = (Instant::now(), Duration::ZERO, None);
        while ended.is_none_or(|at: Instant| at.elapsed() < AFTER) {
            ensure!(started.elapsed() < self.span + LIMIT, "only {:?} were answered", signals.answers());
            let times = visible::times(self.service, self.neighbour).await?;
            slowest = slowest.max(times.last().copied().unwrap_or_default());
            let enough = sending.is_empty() || signals.answers().iter().sum::<u32>() >= ANSWERS;
            if enough && started.elapsed() >= self.span {
                signals.stop.store(true, Ordering::Relaxed);
                if ended.is_none() && sending.iter().all(JoinHandle::is_finished) {
                    ended = Some(Instant::now());
                }
            }
        }
        Ok(slowest)
    }

    /// Lets the others poll at their pace.
    async fn polls(&self) -> Result<Duration> {
        if self.crowd.is_empty() {
            return Ok(Duration::ZERO);
        }
        let (polls, _) = crowd::poll_rate(self.service, self.crowd, self.span).await?;
        Ok(polls.answered.quantile(0.99))
    }
}

/// Sends reports by turns, so that none is the same as the one before it: that would not be read.
async fn send(address: SocketAddr, path: String, bodies: [Bytes; 2], signals: Arc<Signals>) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    for body in bodies.iter().cycle() {
        if signals.stop.load(Ordering::Relaxed) {
            break;
        }
        let count = match connection.send(Method::POST, &path, body.clone()).await {
            Ok(status) if status.is_success() => &signals.taken,
            Ok(_) => &signals.refused,
            // It was cut off.
            Err(_) => {
                connection = Connection::open(address).await?;
                &signals.refused
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The longest that an answer takes until it is over.
async fn longest(address: SocketAddr, path: String, signals: Arc<Signals>) -> Result<Duration> {
    let mut connection = Connection::open(address).await?;
    let mut longest = Duration::ZERO;
    while !signals.over.load(Ordering::Relaxed) {
        let started = Instant::now();
        let status = connection.send(Method::GET, &path, Bytes::new()).await?;
        ensure!(status.is_success(), "{path}: {status}");
        longest = longest.max(started.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(longest)
}

/// The longest that the disk takes to flush a small write: what others have left it to do is part of it.
fn longest_flush(dir: &Path, signals: &Signals) -> Result<Duration> {
    let file = tempfile::tempfile_in(dir)?;
    let mut longest = Duration::ZERO;
    while !signals.over.load(Ordering::Relaxed) {
        file.write_all_at(&[0; 4096], 0)?;
        let started = Instant::now();
        file.sync_data()?;
        longest = longest.max(started.elapsed());
        thread::sleep(FLUSH_PAUSE);
    }
    Ok(longest)
}
