//! Probes of the network, by the kernel's sockets alone: no tool is run, nothing is parsed that was written for people.
//!
//! Each sends what it asks at a measured pace and collects what comes back meanwhile, thousands of questions on one
//! socket. They need `CAP_NET_RAW`. What comes back is hostile input: it counts only where it answers something that
//! was asked.

pub(crate) mod arp;
pub(crate) mod dhcp;
mod lease;
pub(crate) mod ndp;
pub(crate) mod ping;
mod socket;

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

pub use arp::{ArpAsk, arp};
pub use dhcp::{DhcpAsk, DhcpError, dhcp};
pub use lease::Lease;
pub use ndp::ndp;
pub use ping::{Answers, Echo, ping};
use socket::{Datagram, Socket};

/// How often something is asked, and how long answers are waited for.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRounds {
    pub count: u16,
    /// Time from one round to the next; each round's questions are spread over it.
    pub spacing: Duration,
    /// Time for the answers to the last question.
    pub wait: Duration,
}

/// Sends one datagram for each of `questions` in each round, evenly spread, and hands whatever arrives to `take`, until
/// that says that nothing more is wanted, or the time is over. Where a datagram can't be sent its answer is missing.
async fn exchange(
    socket: &Socket,
    rounds: ProbeRounds,
    questions: usize,
    mut ask: impl FnMut(u16, usize) -> Option<Datagram>,
    mut take: impl FnMut(&[u8], Option<std::net::IpAddr>) -> bool,
) -> io::Result<()> {
    let start = Instant::now();
    let sending = async {
        for round in 0..rounds.count {
            for question in 0..questions {
                let part = question as f64 / questions as f64;
                let due = start + rounds.spacing.mul_f64(f64::from(round) + part);
                if due > Instant::now() {
                    sleep_until(due).await;
                }
                if let Some(datagram) = ask(round, question) {
                    socket.send(&datagram).await;
                }
            }
        }
        sleep(rounds.wait).await;
    };
    let receiving = async {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let (length, from) = socket.receive(&mut buffer).await?;
            if take(&buffer[..length], from) {
                return Ok(());
            }
        }
    };
    tokio::select! {
        () = sending => Ok(()),
        failed = receiving => failed,
    }
}

/// The state that a probe's two halves share; both run in one task.
struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
