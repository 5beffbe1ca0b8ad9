//! What a hostile machine's reports cost everybody else: the longest that `/health`, a poll and a report of another cluster take beside
//! them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assisted_simhost::connection::Connection;
use bytes::Bytes;
use hyper::Method;
use serde_json::json;

use super::populate::{Arrivals, HOSTS_PER_CLUSTER, clusters};
use super::report::{Figure, heading, line, ms};
use super::service::{Engine, Service};
use super::visible;

/// The longest body of a report that is taken, in bytes, less what stands around the output.
const ROOM: usize = (16 << 20) - 4096;
/// Machines that send such reports at the same time.
const SENDERS: usize = 2;
/// From one look at how long an answer takes to the next.
const PAUSE: Duration = Duration::from_millis(5);

/// A report of 16 MiB: what it begins with, of which number it is, what comes again and again, and how it ends.
struct Shape {
    name: &'static str,
    step: &'static str,
    head: fn(u32) -> String,
    element: fn(usize) -> String,
    tail: &'static str,
}

const SHAPES: [Shape; 8] = [
    Shape {
        name: "disks with holders",
        step: "inventory",
        head: |number| format!(r#"{{"hostname":"h{number}","disks":["#),
        element: |at| format!(r#"{{"drive_type":"FC","holders":"dm-{at}","name":"sd{at}"}}"#),
        tail: "]}",
    },
    Shape {
        name: "disks without anything",
        step: "inventory",
        head: |number| format!(r#"{{"hostname":"h{number}","disks":["#),
        element: |_| "{}".to_owned(),
        tail: "]}",
    },
    Shape {
        name: "addresses",
        step: "inventory",
        head: |number| {
            format!(
                r#"{{"hostname":"h{number}","interfaces":[{{"name":"eth0","mac_address":"52:54:00:00:00:01","ipv4_addresses":["#
            )
        },
        element: |at| format!(r#""10.{}.{}.{}/32""#, (at >> 16) & 255, (at >> 8) & 255, at & 255),
        tail: "]}]}",
    },
    Shape {
        name: "routes",
        step: "inventory",
        head: |number| format!(r#"{{"hostname":"h{number}","routes":["#),
        element: |at| {
            let destination = format!("10.{}.{}.0", (at >> 8) & 255, at & 255);
            format!(
                r#"{{"destination":"{destination}","gateway":"10.0.0.1","interface":"eth0","family":2,"metric":{at}}}"#
            )
        },
        tail: "]}",
    },
    Shape {
        name: "one long name",
        step: "inventory",
        head: |number| format!(r#"{{"hostname":"h{number}"#),
        element: |_| "n".repeat(1024),
        tail: r#""}"#,
    },
    Shape {
        name: "hosts that can be reached",
        step: "connectivity-check",
        head: |_| r#"{"remote_hosts":["#.to_owned(),
        element: |at| {
            format!(
                r#"{{"host_id":"00000000-0000-4000-8000-{at:012x}","l3_connectivity":[{{"outgoing_nic":"eth0","remote_ip_address":"10.0.0.1","successful":true}}]}}"#
            )
        },
        tail: "]}",
    },
    Shape {
        name: "names that were resolved",
        step: "domain-resolution",
        head: |_| r#"{"resolutions":["#.to_owned(),
        element: |at| format!(r#"{{"domain_name":"n{at}.example.com","ipv4_addresses":["10.0.0.1"]}}"#),
        tail: "]}",
    },
    Shape {
        name: "levels that never end",
        step: "inventory",
        head: |_| r#"{"disks":"#.to_owned(),
        element: |_| "[".repeat(1024),
        tail: "",
    },
];

impl Shape {
    /// The body of a report, as long as it may be.
    fn body(&self, number: u32) -> Result<Bytes> {
        let mut output = (self.head)(number);
        let mut length = output.len();
        for at in 0.. {
            let element = (self.element)(at);
            // In the body each quote has a backslash before it.
            length += element.len() + element.matches('"').count() + 1;
            if length > ROOM {
                break;
            }
            if at > 0 && !matches!(element.as_bytes().first(), Some(b'n' | b'[')) {
                output.push(',');
            }
            output.push_str(&element);
        }
        output.push_str(self.tail);
        let reply = json!({"step_type": self.step, "step_id": "x", "exit_code": 0, "output": output});
        Ok(serde_json::to_vec(&reply)?.into())
    }
}

/// Measures each shape.
pub async fn run(engine: Engine, program: &std::path::Path) -> Result<()> {
    heading(&format!("Beside reports of 16 MiB, service on {engine}"));
    let service = Service::start(engine, program, &[]).await?;
    let hosts = clusters(&service, 0..2).await?;
    Arrivals::new(&hosts)?.register(&service, hosts.len()).await?;
    let neighbour = hosts.get(HOSTS_PER_CLUSTER as usize).context("there is one cluster only")?;
    service.wait_until_idle().await?;
    for shape in &SHAPES {
        // Made beforehand, so that they come one upon the other. What comes again unchanged would not be read.
        let bodies: Vec<Bytes> = (0..2 * SENDERS as u32).map(|at| shape.body(at)).collect::<Result<_>>()?;
        let bodies: Arc<[Bytes]> = bodies.into();
        let (over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let mut senders = Vec::new();
        for host in hosts.iter().take(SENDERS) {
            let (address, path) = (service.address, host.instructions_path());
            let (bodies, over, sent) = (Arc::clone(&bodies), Arc::clone(&over), Arc::clone(&sent));
            senders.push(tokio::spawn(async move {
                let mut connection = Connection::open(address).await?;
                while !over.load(Ordering::Relaxed) {
                    let number = sent.fetch_add(1, Ordering::Relaxed) as usize;
                    // Some are refused.
                    connection.send(Method::POST, &path, bodies[number % bodies.len()].clone()).await?;
                }
                anyhow::Ok(())
            }));
        }
        let health = tokio::spawn(longest(service.address, "/health".to_owned(), Arc::clone(&over)));
        let poll = tokio::spawn(longest(service.address, neighbour.instructions_path(), Arc::clone(&over)));
        let judged = visible::times(&service, neighbour).await;
        over.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.await??;
        }
        let (health, poll) = (health.await??, poll.await??);
        let slowest = judged?.last().copied().unwrap_or_default();
        line(shape.name, Figure::Count(sent.load(Ordering::Relaxed).into()), "");
        line("  longest /health", ms(health), "< 100");
        line("  longest poll of another cluster", ms(poll), "< 100");
        line("  another cluster's report until its validations are visible", ms(slowest), "< 150");
        service.wait_until_idle().await?;
    }
    let (_, memory) = service.memory()?;
    line("memory at its most", Figure::Mb(memory), "");
    Ok(())
}

/// The longest that an answer takes until it is over.
async fn longest(address: SocketAddr, path: String, over: Arc<AtomicBool>) -> Result<Duration> {
    let mut connection = Connection::open(address).await?;
    let mut longest = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let started = Instant::now();
        connection.send(Method::GET, &path, Bytes::new()).await?;
        longest = longest.max(started.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(longest)
}
