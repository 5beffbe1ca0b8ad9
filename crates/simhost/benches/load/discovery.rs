//! What the service and the agent cost while hosts are discovered.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assisted_simhost::host::SimHost;
use assisted_simhost::load::{Call, Load, Outcome};
use bytes::Bytes;
use hyper::Method;

use super::populate::{Arrivals, CONNECTIONS, HOSTS_PER_CLUSTER, RUSH, clusters, inventory};
use super::report::{Figure, heading, line, ms};
use super::service::{Engine, Service};
use super::{process, visible};

/// Hosts that poll and report.
const HOSTS: u32 = 1_500;

/// The agent's inventory of this machine.
pub fn agent(program: &Path) -> Result<()> {
    heading("Agent, on this machine");
    let mut times = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        let output = Command::new(program).arg("inventory").output().context("can't run assisted-host")?;
        ensure!(
            output.status.success(),
            "assisted-host inventory: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        times.push(started.elapsed());
    }
    times.sort_unstable();
    line("inventory, median of 20 processes", ms(times[10]), "< 15");
    line("inventory, peak memory", Figure::Mb(process::peak_memory_of_children()?), "< 8");
    line("binary", Figure::Mb(std::fs::metadata(program)?.len() as f64 / 1e6), "< 12");
    Ok(())
}

/// The service on one engine.
pub async fn run(engine: Engine, program: &Path, limit: Duration) -> Result<()> {
    heading(&format!("Service on {engine}"));
    let mut service = Service::start(engine, program, &[]).await?;
    let hosts = populate(&service, 0, HOSTS, CONNECTIONS).await?;
    standing(&service, HOSTS, limit).await?;
    polls(&service, &hosts, limit).await?;
    pairs(&service, &hosts, limit, "unchanged", |_| 1).await?;
    pairs(&service, &hosts, limit, "changed each time", |number| 2 + number).await?;
    visible::run(&service, &hosts[0]).await?;
    populate(&service, HOSTS, 2 * HOSTS, RUSH).await?;
    standing(&service, 3 * HOSTS, limit).await?;
    let (memory, _) = service.memory()?;
    line("memory, database apart, 4,500 hosts", Figure::Mb(memory), "< 100 at 10,000");
    let (ready, memory) = service.restart().await?;
    line("start until ready, existing data", ms(ready), "< 50");
    line("memory when ready", Figure::Mb(memory), "< 30");
    line("  of it pages of the program", Figure::Mb(service.pages_of_program()?), "");
    Ok(())
}

/// More hosts, after so many that there are, over so many connections.
async fn populate(service: &Service, before: u32, count: u32, connections: usize) -> Result<Vec<SimHost>> {
    let first = before / HOSTS_PER_CLUSTER;
    let hosts = clusters(service.address, &service.version, first..first + count / HOSTS_PER_CLUSTER).await?;
    let arrivals = Arrivals::new(&hosts)?;
    let (started, cpu) = (Instant::now(), service.cpu()?);
    arrivals.register(service.address, connections).await?;
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    let what = format!("registrations with first inventory, {count} hosts, {connections} connections");
    line(&what, Figure::PerSecond(rate), ">= 5,000 on SQLite, 3,000 on PostgreSQL");
    let each = (service.cpu()? - cpu) * 1e3 / f64::from(count);
    line("  CPU, service + database", Figure::MsEach(each), "");
    service.wait_until_idle().await?;
    Ok(hosts)
}

/// What the system costs when nothing happens.
async fn standing(service: &Service, hosts: u32, limit: Duration) -> Result<()> {
    service.tidy_up()?;
    let (started, cpu) = (Instant::now(), service.cpu()?);
    tokio::time::sleep(limit).await;
    let cores = (service.cpu()? - cpu) / started.elapsed().as_secs_f64();
    line(&format!("standing cost, {hosts} quiet hosts"), Figure::Cores(cores), "< 0.01");
    Ok(())
}

/// As many requests as can be.
fn load(service: &Service, limit: Duration) -> Load {
    Load { address: service.address, connections: CONNECTIONS, limit, per_second: None }
}

/// Polls, as many as can be.
pub async fn send_polls(service: &Service, hosts: &[SimHost], limit: Duration) -> Result<Outcome> {
    let paths: Vec<String> = hosts.iter().map(SimHost::instructions_path).collect();
    load(service, limit)
        .run(move |number| {
            let path = paths[number as usize % paths.len()].clone();
            Some(Call { method: Method::GET, path, body: Bytes::new() })
        })
        .await
}

async fn polls(service: &Service, hosts: &[SimHost], limit: Duration) -> Result<()> {
    let cpu = service.cpu()?;
    let outcome = send_polls(service, hosts, limit).await?;
    line("polls", Figure::PerSecond(outcome.rate()), ">= 20,000");
    detail(&outcome, service.cpu()? - cpu, "")
}

/// Polls and inventories, one to one, as many as can be; `revision` tells what is reported in a round.
pub async fn send_pairs(
    service: &Service,
    hosts: &[SimHost],
    limit: Duration,
    revision: impl Fn(u32) -> u32 + Send + Sync + 'static,
) -> Result<Outcome> {
    let targets: Vec<(String, SimHost)> =
        hosts.iter().map(|host| (host.instructions_path(), host.clone())).collect();
    load(service, limit)
        .run(move |number| {
            let (round, place) =
                (number as u32 / 2 / targets.len() as u32, (number / 2) as usize % targets.len());
            let (path, host) = &targets[place];
            Some(if number.is_multiple_of(2) {
                Call { method: Method::GET, path: path.clone(), body: Bytes::new() }
            } else {
                let body = inventory(host, revision(round)).ok()?;
                Call { method: Method::POST, path: path.clone(), body }
            })
        })
        .await
}

async fn pairs(
    service: &Service,
    hosts: &[SimHost],
    limit: Duration,
    what: &str,
    revision: impl Fn(u32) -> u32 + Send + Sync + 'static,
) -> Result<()> {
    let cpu = service.cpu()?;
    let outcome = send_pairs(service, hosts, limit, revision).await?;
    line(
        &format!("poll + inventory pairs, inventory {what}"),
        Figure::PerSecond(outcome.rate() / 2.0),
        ">= 4,800",
    );
    detail(&outcome, service.cpu()? - cpu, "<= 0.19")?;
    service.wait_until_idle().await
}

fn detail(outcome: &Outcome, cpu: f64, goal: &str) -> Result<()> {
    ensure!(outcome.refused == 0, "{} requests were refused", outcome.refused);
    let answered = &outcome.answered;
    let each = cpu * 1e3 / answered.count() as f64;
    line("  CPU per request, service + database", Figure::MsEach(each), goal);
    line("  p50", ms(answered.quantile(0.5)), "");
    line("  p99", ms(answered.quantile(0.99)), "");
    Ok(())
}
