//! Many hosts at once: throughput and latency.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use hyper::Method;

use crate::connection::Connection;

/// One request of a load.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub body: Bytes,
}

/// What a load achieved.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Requests answered with success.
    pub answered: u64,
    /// Requests answered otherwise.
    pub refused: u64,
    pub elapsed: Duration,
    /// Latency of each answered request, sorted.
    latencies: Vec<Duration>,
}

impl Outcome {
    /// Answered requests per second.
    pub fn rate(&self) -> f64 {
        self.answered as f64 / self.elapsed.as_secs_f64()
    }

    /// Latency that the share `quantile` (0–1) of the requests did not exceed.
    pub fn latency(&self, quantile: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((last as f64 * quantile) as usize).copied().unwrap_or_default()
    }
}

/// Sends what `next` gives for the numbers 0, 1, 2, … over `connections` connections, each with one request at a time,
/// until `next` gives nothing more or `limit` has passed.
pub async fn run(
    address: SocketAddr,
    connections: usize,
    limit: Duration,
    next: impl Fn(u64) -> Option<Call> + Send + Sync + 'static,
) -> Result<Outcome> {
    let next = Arc::new(next);
    let number = Arc::new(AtomicU64::new(0));
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        opened.push(Connection::open(address).await?);
    }
    let started = Instant::now();
    let workers: Vec<_> = opened
        .into_iter()
        .map(|mut connection| {
            let (next, number) = (next.clone(), number.clone());
            tokio::spawn(async move {
                let mut outcome = Outcome::default();
                while started.elapsed() < limit {
                    let Some(call) = next(number.fetch_add(1, Ordering::Relaxed)) else { break };
                    let sent = Instant::now();
                    if connection.send(call.method, &call.path, call.body).await?.is_success() {
                        outcome.answered += 1;
                        outcome.latencies.push(sent.elapsed());
                    } else {
                        outcome.refused += 1;
                    }
                }
                Ok::<_, anyhow::Error>(outcome)
            })
        })
        .collect();
    let mut sum = Outcome::default();
    for worker in workers {
        let outcome = worker.await??;
        sum.answered += outcome.answered;
        sum.refused += outcome.refused;
        sum.latencies.extend(outcome.latencies);
    }
    sum.elapsed = started.elapsed();
    sum.latencies.sort_unstable();
    Ok(sum)
}
