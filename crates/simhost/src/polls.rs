//! Many hosts that poll at their pace over few connections, and ask again where they get no answer, as agents do: the replica that they
//! asked may be gone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bytes::Bytes;
use hyper::Method;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connection::Connection;
use crate::load::{Meter, Outcome, until};

/// How long an answer is waited for.
const REQUEST: Duration = Duration::from_secs(30);
/// How long a host waits after its first failure, each further time half as long again (agent-protocol §1.9).
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long a connection is kept: less than the service keeps one that is not used, and a replica that comes back gets its share of the
/// connections that are made then.
const KEPT: Duration = Duration::from_secs(5);

/// Hosts that poll until this is dropped.
pub struct Polls {
    hosts: Arc<Hosts>,
    _workers: JoinSet<()>,
    /// When the figures were taken last, and how many tries had failed then.
    taken: (Instant, u64),
}

struct Hosts {
    address: SocketAddr,
    interval: Duration,
    began: Instant,
    /// Where each host polls.
    paths: Vec<String>,
    /// How many microseconds after the beginning each host asked what it got its last answer to; 0: it got none.
    heard: Vec<AtomicU64>,
    next: AtomicU64,
    meter: Meter,
    answered: AtomicU64,
    failed: AtomicU64,
}

impl Polls {
    /// Lets hosts, given by the paths of their polls, poll once in each interval, one after the other, over so many connections.
    pub fn begin(address: SocketAddr, connections: usize, interval: Duration, paths: Vec<String>) -> Self {
        let began = Instant::now();
        let connections = connections.min(paths.len());
        let hosts = Arc::new(Hosts {
            address,
            interval,
            began,
            heard: paths.iter().map(|_| AtomicU64::new(0)).collect(),
            paths,
            next: AtomicU64::new(0),
            meter: Meter::default(),
            answered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        let mut workers = JoinSet::new();
        for _ in 0..connections {
            let hosts = Arc::clone(&hosts);
            workers.spawn(async move { hosts.poll().await });
        }
        Self { hosts, _workers: workers, taken: (began, 0) }
    }

    /// How many polls a second are wanted.
    pub fn wanted(&self) -> f64 {
        self.hosts.paths.len() as f64 / self.hosts.interval.as_secs_f64()
    }

    /// How many polls were answered since the beginning, and how many tries failed.
    pub fn so_far(&self) -> (u64, u64) {
        (self.hosts.answered.load(Ordering::Relaxed), self.hosts.failed.load(Ordering::Relaxed))
    }

    /// What came since the last call: how long each poll took from the moment at which it was due until it was answered, at whatever try;
    /// and how many tries failed.
    pub fn take(&mut self) -> Outcome {
        let (at, before) = self.taken;
        let (_, failed) = self.so_far();
        self.taken = (Instant::now(), failed);
        Outcome { answered: self.hosts.meter.take(), refused: failed - before, elapsed: at.elapsed() }
    }

    /// How long after the beginning each host asked what it got its last answer to.
    pub fn heard(&self) -> Vec<Option<Duration>> {
        let heard = self.hosts.heard.iter().map(|heard| heard.load(Ordering::Relaxed));
        heard.map(|micros| (micros > 0).then(|| Duration::from_micros(micros))).collect()
    }
}

impl Hosts {
    /// Polls for one host after the other.
    async fn poll(&self) {
        let mut kept = None;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let host = (number % self.paths.len() as u64) as usize;
            let due = self.turn(number).await;
            let mut pause = FIRST_PAUSE;
            loop {
                let asked = self.began.elapsed();
                let failed = match timeout(REQUEST, self.ask(&mut kept, &self.paths[host])).await {
                    Ok(Ok(())) => {
                        self.heard[host].fetch_max(asked.as_micros() as u64, Ordering::Relaxed);
                        break;
                    }
                    Ok(Err(error)) => error,
                    Err(_) => anyhow::anyhow!("no answer within {} s", REQUEST.as_secs()),
                };
                tracing::debug!(host, error = format!("{failed:#}"), "polling again");
                self.failed.fetch_add(1, Ordering::Relaxed);
                sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 3 / 2);
            }
            self.meter.record(due.elapsed());
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until it is a poll's turn; the moment from which its time counts.
    async fn turn(&self, number: u64) -> Instant {
        until(self.began + self.interval.mul_f64(number as f64 / self.paths.len() as f64)).await
    }

    /// Asks once. A connection on which that failed is not kept.
    async fn ask(&self, kept: &mut Option<(Connection, Instant)>, path: &str) -> Result<()> {
        let young = kept.take().filter(|(_, since)| since.elapsed() < KEPT);
        let (mut open, since) = match young {
            Some(young) => young,
            None => (Connection::open(self.address).await?, Instant::now()),
        };
        let status = open.send(Method::GET, path, Bytes::new()).await?;
        ensure!(status.is_success(), "{path}: {status}");
        *kept = Some((open, since));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Answers what is asked on a connection, but ends it where requests are left that get no answer.
    async fn serve(mut stream: TcpStream, unanswered: Arc<AtomicU64>) {
        let mut head = Vec::new();
        while let Ok(byte) = stream.read_u8().await {
            head.push(byte);
            if !head.ends_with(b"\r\n\r\n") {
                continue;
            }
            head.clear();
            let fewer = |left: u64| left.checked_sub(1);
            if unanswered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok() {
                return;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    }

    #[tokio::test]
    async fn who_gets_no_answer_asks_again() {
        const UNANSWERED: u64 = 3;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let unanswered = Arc::new(AtomicU64::new(UNANSWERED));
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&unanswered)));
            }
        });
        let paths: Vec<_> = (0..4).map(|host| format!("/{host}")).collect();
        let mut polls = Polls::begin(address, 2, Duration::from_millis(200), paths);
        let enough = timeout(Duration::from_secs(60), async {
            let is_over = |(answered, failed)| answered >= 8 && failed >= UNANSWERED;
            while !is_over(polls.so_far()) {
                sleep(Duration::from_millis(5)).await;
            }
        });
        enough.await.unwrap();
        let outcome = polls.take();
        assert!(outcome.answered.count() >= 8, "{outcome:?}");
        assert_eq!(outcome.refused, UNANSWERED);
        assert!(outcome.answered.quantile(1.0) >= FIRST_PAUSE, "{outcome:?}");
        assert_eq!(polls.take().refused, 0);
        assert!(polls.heard().iter().all(Option::is_some), "{:?}", polls.heard());
    }
}
