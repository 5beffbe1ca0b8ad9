//! Many hosts at once: throughput and latency.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use hyper::{Method, StatusCode};

use crate::connection::Connection;

/// One request of a load.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub body: Bytes,
}

/// Times that requests took, noted by many and read at the end.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Vec<Duration>>>);

impl Meter {
    /// Notes what a request took.
    pub fn record(&self, took: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(took);
    }

    /// What was noted since the last call.
    pub fn take(&self) -> Latencies {
        let mut noted = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        noted.sort_unstable();
        Latencies(noted)
    }
}

/// Times that requests took, sorted.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The time that the share `part` (0–1) of the requests did not exceed.
    pub fn quantile(&self, part: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * part) as usize).copied().unwrap_or_default()
    }
}

/// What a load achieved.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Requests answered with success: how long each took.
    pub answered: Latencies,
    /// Requests answered otherwise.
    pub refused: u64,
    pub elapsed: Duration,
}

impl Outcome {
    /// Answered requests per second.
    pub fn rate(&self) -> f64 {
        self.answered.count() as f64 / self.elapsed.as_secs_f64()
    }
}

/// How requests are sent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub address: SocketAddr,
    /// Connections; each carries one request at a time.
    pub connections: usize,
    /// When no further request is sent.
    pub limit: Duration,
    /// Requests per second; without it each follows the answer to the one before it.
    pub per_second: Option<f64>,
}

impl Load {
    /// Sends what `next` gives for the numbers 0, 1, 2, … until it gives nothing more or the limit has passed. With so many
    /// a second, what a request waits for a free connection counts as its time.
    pub async fn run(self, next: impl Fn(u64) -> Option<Call> + Send + Sync + 'static) -> Result<Outcome> {
        let next = Arc::new(next);
        let number = Arc::new(AtomicU64::new(0));
        let meter = Meter::default();
        let started = Instant::now();
        let workers: Vec<_> = (0..self.connections)
            .map(|_| {
                let (next, number, meter) = (next.clone(), number.clone(), meter.clone());
                tokio::spawn(async move {
                    let (mut connection, mut refused) = (None, 0);
                    while started.elapsed() < self.limit {
                        let number = number.fetch_add(1, Ordering::Relaxed);
                        let Some(sent) = self.turn(started, number).await else { break };
                        let Some(call) = next(number) else { break };
                        let (status, open) = self.send(connection.take(), call).await?;
                        connection = Some(open);
                        if status.is_success() {
                            meter.record(sent.elapsed());
                        } else {
                            refused += 1;
                        }
                    }
                    Ok::<_, anyhow::Error>(refused)
                })
            })
            .collect();
        let mut refused = 0;
        for worker in workers {
            refused += worker.await??;
        }
        Ok(Outcome { answered: meter.take(), refused, elapsed: started.elapsed() })
    }

    /// Sends a request; once more over a new connection where the service has ended the kept one, as it may.
    async fn send(&self, kept: Option<Connection>, call: Call) -> Result<(StatusCode, Connection)> {
        let Call { method, path, body } = call;
        if let Some(mut open) = kept
            && let Ok(status) = open.send(method.clone(), &path, body.clone()).await
        {
            return Ok((status, open));
        }
        let mut open = Connection::open(self.address).await?;
        let status = open.send(method, &path, body).await?;
        Ok((status, open))
    }

    /// Waits until it is a request's turn; gives the moment from which its time counts, or nothing where it would come too
    /// late.
    async fn turn(&self, started: Instant, number: u64) -> Option<Instant> {
        let Some(per_second) = self.per_second else { return Some(Instant::now()) };
        let after = Duration::from_secs_f64(number as f64 / per_second);
        if after >= self.limit {
            return None;
        }
        Some(until(started + after).await)
    }
}

/// Waits until a request is due; gives the moment from which its time counts.
pub(crate) async fn until(due: Instant) -> Instant {
    if due <= Instant::now() {
        return due;
    }
    tokio::time::sleep_until(due.into()).await;
    // What the timer comes too late is not the service's doing.
    Instant::now()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each request with a status, and ends the connection without a word.
    async fn curt(listener: TcpListener, status: u16) {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
        }
    }

    #[tokio::test]
    async fn each_number_is_sent_although_connections_end() {
        for (status, per_second) in [(200, None), (200, Some(1_000.0)), (503, Some(1_000.0))] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(curt(listener, status));
            let load = Load { address, connections: 3, limit: Duration::from_secs(60), per_second };
            let call = |number| Call { method: Method::GET, path: format!("/{number}"), body: Bytes::new() };
            let outcome = load.run(move |number| (number < 20).then(|| call(number))).await.unwrap();
            let expected = if status == 200 { (20, 0) } else { (0, 20) };
            assert_eq!((outcome.answered.count(), outcome.refused), expected);
        }
    }

    #[test]
    fn quantiles_are_of_what_was_noted() {
        let meter = Meter::default();
        (1..=100).rev().map(Duration::from_millis).for_each(|took| meter.record(took));
        let latencies = meter.take();
        assert_eq!([0.5, 0.99, 1.0].map(|part| latencies.quantile(part).as_millis()), [50, 99, 100]);
        assert_eq!(meter.take().quantile(0.5), Duration::ZERO);
    }
}
