//! Many hosts on one replica, each of which polls once a minute, and a report that must be seen among them.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use assisted_simhost::host::SimHost;
use assisted_simhost::load::{Call, Load, Outcome};
use bytes::Bytes;
use hyper::Method;

use super::populate::{Arrivals, CONNECTIONS, HOSTS_PER_CLUSTER, RUSH, clusters};
use super::report::{Figure, heading, line, ms};
use super::service::{Engine, Service};
use super::{process, visible};

/// Seconds between two polls of a host.
const POLL: f64 = 60.0;
/// Hosts that come at a time: those that are there poll between.
const SLICE: u32 = 15_000;

/// Crowds, one after the other, on the same service.
pub async fn run(engine: Engine, program: &Path, crowds: &[u32], limit: Duration) -> Result<()> {
    let service = Service::start(engine, program, &[]).await?;
    let mut hosts = Vec::new();
    for crowd in crowds {
        let crowd = crowd.next_multiple_of(HOSTS_PER_CLUSTER);
        heading(&format!("{crowd} hosts, one poll a minute each, on {engine}"));
        gather(service.address, &service.version, &mut hosts, crowd, |_| ()).await?;
        measure(&service, &hosts, limit).await?;
    }
    Ok(())
}

/// Lets hosts come until there are so many; tells now and then how many have come.
pub async fn gather(
    address: SocketAddr,
    version: &str,
    hosts: &mut Vec<SimHost>,
    crowd: u32,
    tell: impl Fn(usize),
) -> Result<()> {
    let (mut creating, mut registering) = (Duration::ZERO, Duration::ZERO);
    let before = hosts.len();
    while (hosts.len() as u32) < crowd {
        let first = hosts.len() as u32 / HOSTS_PER_CLUSTER;
        let more = SLICE.min(crowd - hosts.len() as u32) / HOSTS_PER_CLUSTER;
        let started = Instant::now();
        let new = clusters(address, version, first..first + more).await?;
        creating += started.elapsed();
        let arrivals = Arrivals::new(&new)?;
        let started = Instant::now();
        arrivals.register(address, RUSH).await?;
        registering += started.elapsed();
        hosts.extend(new);
        // Who is not heard for three minutes counts as lost.
        poll_once(address, hosts).await?;
        tell(hosts.len());
    }
    let came = (hosts.len() - before) as f64;
    let created = came / f64::from(HOSTS_PER_CLUSTER) / creating.as_secs_f64();
    line("clusters created, each with an infra-env", Figure::PerSecond(created), "");
    line(
        "registrations with first inventory",
        Figure::PerSecond(came / registering.as_secs_f64()),
        ">= 5,000 on SQLite, 3,000 on PostgreSQL",
    );
    Ok(())
}

/// Each host polls once, as fast as can be.
pub async fn poll_once(address: SocketAddr, hosts: &[SimHost]) -> Result<()> {
    let load = Load { address, connections: CONNECTIONS, limit: Duration::MAX, per_second: None };
    let paths = paths(hosts);
    let outcome = load.run(move |number| paths.get(number as usize).cloned().map(poll)).await?;
    ensure!(outcome.refused == 0, "{} polls were refused", outcome.refused);
    Ok(())
}

/// Where they poll.
pub fn paths(hosts: &[SimHost]) -> Vec<String> {
    hosts.iter().map(SimHost::instructions_path).collect()
}

fn poll(path: String) -> Call {
    Call { method: Method::GET, path, body: Bytes::new() }
}

/// Lets all hosts poll at their pace, and one of them report meanwhile.
async fn measure(service: &Service, hosts: &[SimHost], limit: Duration) -> Result<()> {
    // What their coming has left to be done is not what their polls cost.
    let (_, work) = poll_rate(service, hosts, Duration::from_secs_f64(POLL)).await?;
    line("CPU in the minute after they came", Figure::Cores(work.service / POLL), "");
    service.tidy_up()?;
    let started = Instant::now();
    let ((polls, work), ()) =
        tokio::try_join!(poll_rate(service, hosts, limit), visible::run(service, &hosts[0]))?;
    let elapsed = started.elapsed().as_secs_f64();
    line("polls", Figure::PerSecond(polls.rate()), &format!("{:.0}", per_second(hosts)));
    line("  p50", ms(polls.answered.quantile(0.5)), "");
    line("  p99", ms(polls.answered.quantile(0.99)), "");
    line("CPU, service + database", Figure::Cores(work.service / elapsed), "< 0.4 at 100,000");
    if work.database > 0.0 {
        line("  of that the database", Figure::Cores(work.database / elapsed), "");
    }
    line("  the load generator, besides", Figure::Cores(work.own / elapsed), "");
    let each = work.service * 1e3 / polls.answered.count() as f64;
    line("  CPU per poll, service + database", Figure::MsEach(each), "");
    let (memory, peak) = service.memory()?;
    line("memory, database apart", Figure::Mb(memory), "< 100 at 10,000, < 600 at 100,000");
    line("  at its most", Figure::Mb(peak), "");
    Ok(())
}

/// CPU seconds.
pub struct Work {
    /// Of the service with its database.
    pub service: f64,
    /// Of the database alone.
    database: f64,
    /// Of the load generator.
    own: f64,
}

fn per_second(hosts: &[SimHost]) -> f64 {
    hosts.len() as f64 / POLL
}

/// Polls of all hosts at their pace, each on a connection of its own as long as the service keeps it.
pub async fn poll_rate(service: &Service, hosts: &[SimHost], limit: Duration) -> Result<(Outcome, Work)> {
    let load = Load {
        address: service.address,
        connections: hosts.len(),
        limit,
        per_second: Some(per_second(hosts)),
    };
    let paths = paths(hosts);
    let (cpu, database, own) = (service.cpu()?, service.database_cpu(), process::own_cpu()?);
    let polls = load.run(move |number| Some(poll(paths[number as usize % paths.len()].clone()))).await?;
    ensure!(polls.refused == 0, "{} polls were refused", polls.refused);
    let work = Work {
        service: service.cpu()? - cpu,
        database: service.database_cpu() - database,
        own: process::own_cpu()? - own,
    };
    Ok((polls, work))
}
