//! `cargo xtask bench discovery`: what the service and the agent cost while hosts are discovered.
//!
//! The service, its database and the load generator share the machine, as they do in the goals.

// The figures are what the program is for.
#![allow(clippy::print_stdout)]

mod process;
mod report;
mod service;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assisted_simhost::connection::Connection;
use assisted_simhost::host::SimHost;
use assisted_simhost::load::{self, Call, Outcome};
use assisted_wire::id::InfraEnvId;
use bytes::Bytes;
use hyper::Method;
use serde_json::{Value, json};

use crate::report::{Report, Unit};
use crate::service::{Engine, Service};

/// Connections of the load generator.
const CONNECTIONS: usize = 32;
/// Hosts that poll and report.
const HOSTS: u32 = 1_500;
const HOSTS_PER_CLUSTER: u32 = 3;

#[tokio::main]
async fn main() -> Result<()> {
    let seconds = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(10);
    let limit = Duration::from_secs(seconds);
    let mut report = Report;
    agent(&mut report)?;
    for engine in [Engine::Sqlite, Engine::Postgres] {
        report.heading(&format!("Service on {engine}"));
        discovery(&mut report, engine, limit).await?;
    }
    Ok(())
}

/// The agent's inventory of this machine.
fn agent(report: &mut Report) -> Result<()> {
    report.heading("Agent, on this machine");
    let program = service::target_dir()?.join("host/assisted-host");
    let mut times = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        let output = std::process::Command::new(&program)
            .arg("inventory")
            .output()
            .context("can't run assisted-host")?;
        ensure!(
            output.status.success(),
            "assisted-host inventory: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        times.push(started.elapsed());
    }
    times.sort_unstable();
    report.line("inventory, median of 20 processes", Unit::Ms, times[10].as_secs_f64() * 1e3, "< 15");
    report.line("inventory, peak memory", Unit::Mb, process::peak_memory_of_children()?, "< 8");
    report.line("binary", Unit::Mb, std::fs::metadata(&program)?.len() as f64 / 1e6, "< 12");
    Ok(())
}

async fn discovery(report: &mut Report, engine: Engine, limit: Duration) -> Result<()> {
    let mut service = Service::start(engine).await?;
    let hosts = populate(report, &service, HOSTS).await?;
    standing(report, &service, HOSTS, limit).await?;
    polls(report, &service, &hosts, limit).await?;
    pairs(report, &service, &hosts, limit, "unchanged", |_| 1).await?;
    pairs(report, &service, &hosts, limit, "changed each time", |number| 2 + number).await?;
    visible(report, &service, &hosts[0]).await?;
    populate(report, &service, 2 * HOSTS).await?;
    standing(report, &service, 3 * HOSTS, limit).await?;
    report.line("memory, database apart, 4,500 hosts", Unit::Mb, service.memory()?, "< 150 at 10,000");
    let (ready, memory) = service.restart().await?;
    report.line("start until ready, existing data", Unit::Ms, ready.as_secs_f64() * 1e3, "< 50");
    report.line("memory when ready", Unit::Mb, memory, "< 30");
    Ok(())
}

/// Clusters of three hosts each: creates them, then registers the hosts with their first inventory.
async fn populate(report: &mut Report, service: &Service, count: u32) -> Result<Vec<SimHost>> {
    let mut connection = Connection::open(service.address).await?;
    let mut hosts = Vec::new();
    for number in 0..count / HOSTS_PER_CLUSTER {
        let secret = r#"{"auths":{"quay.io":{"auth":"ZGVtbzpkZW1v","email":"a@example.com"}}}"#;
        let cluster = json!({"name": format!("c{number}"), "openshift_version": service.version, "pull_secret": secret, "base_dns_domain": "example.com"});
        let cluster = connection.json(Method::POST, "/api/assisted-install/v2/clusters", &cluster).await?;
        let infra_env = json!({"name": format!("e{number}"), "cluster_id": cluster["id"], "pull_secret": secret, "openshift_version": service.version});
        let infra_env =
            connection.json(Method::POST, "/api/assisted-install/v2/infra-envs", &infra_env).await?;
        let id: InfraEnvId = infra_env["id"].as_str().context("an infra-env without id")?.parse()?;
        hosts
            .extend((0..HOSTS_PER_CLUSTER).map(|index| SimHost::new(id, number * HOSTS_PER_CLUSTER + index)));
    }
    let mut calls = Vec::with_capacity(hosts.len());
    for host in &hosts {
        let register = Bytes::from(serde_json::to_vec(&host.registration())?);
        calls.push((host.hosts_path(), register, host.instructions_path(), inventory(host, 1)?));
    }
    // A host's inventory follows its registration on the same connection, so a pair is two numbers apart at the most.
    let started = Instant::now();
    let cpu = service.cpu()?;
    let mut queues: Vec<_> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
    for (number, call) in calls.into_iter().enumerate() {
        queues[number % CONNECTIONS].push(call);
    }
    let mut workers = Vec::new();
    for queue in queues {
        let address = service.address;
        workers.push(tokio::spawn(async move {
            let mut connection = Connection::open(address).await?;
            for (path, body, reply_path, reply) in queue {
                let registered = connection.send(Method::POST, &path, body).await?;
                ensure!(registered.is_success(), "registration: {registered}");
                let replied = connection.send(Method::POST, &reply_path, reply).await?;
                ensure!(replied.is_success(), "first inventory: {replied}");
            }
            Ok(())
        }));
    }
    for worker in workers {
        worker.await??;
    }
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    report.line(
        &format!("registrations with first inventory, {count} hosts"),
        Unit::PerSecond,
        rate,
        ">= 3,000",
    );
    report.line(
        "  CPU, service + database",
        Unit::MsEach,
        (service.cpu()? - cpu) * 1e3 / f64::from(count),
        "",
    );
    service.settle().await?;
    Ok(hosts)
}

fn inventory(host: &SimHost, revision: u32) -> Result<Bytes> {
    Ok(Bytes::from(serde_json::to_vec(&host.inventory_reply(revision)?)?))
}

/// What the system costs when nothing happens.
async fn standing(report: &mut Report, service: &Service, hosts: u32, limit: Duration) -> Result<()> {
    let (started, cpu) = (Instant::now(), service.cpu()?);
    tokio::time::sleep(limit).await;
    let cores = (service.cpu()? - cpu) / started.elapsed().as_secs_f64();
    report.line(&format!("standing cost, {hosts} quiet hosts"), Unit::Cores, cores, "< 0.01");
    Ok(())
}

async fn polls(report: &mut Report, service: &Service, hosts: &[SimHost], limit: Duration) -> Result<()> {
    let paths: Vec<String> = hosts.iter().map(SimHost::instructions_path).collect();
    let cpu = service.cpu()?;
    let outcome = load::run(service.address, CONNECTIONS, limit, move |number| {
        Some(Call {
            method: Method::GET,
            path: paths[number as usize % paths.len()].clone(),
            body: Bytes::new(),
        })
    })
    .await?;
    report.line("polls", Unit::PerSecond, outcome.rate(), ">= 20,000");
    detail(report, &outcome, service.cpu()? - cpu, "")
}

/// Polls and inventories, one to one.
async fn pairs(
    report: &mut Report,
    service: &Service,
    hosts: &[SimHost],
    limit: Duration,
    what: &str,
    revision: impl Fn(u32) -> u32 + Send + Sync + 'static,
) -> Result<()> {
    let targets: Vec<(String, SimHost)> =
        hosts.iter().map(|host| (host.instructions_path(), host.clone())).collect();
    let cpu = service.cpu()?;
    let outcome = load::run(service.address, CONNECTIONS, limit, move |number| {
        let (round, place) =
            (number as u32 / 2 / targets.len() as u32, (number / 2) as usize % targets.len());
        let (path, host) = &targets[place];
        Some(if number.is_multiple_of(2) {
            Call { method: Method::GET, path: path.clone(), body: Bytes::new() }
        } else {
            Call { method: Method::POST, path: path.clone(), body: inventory(host, revision(round)).ok()? }
        })
    })
    .await?;
    report.line(
        &format!("poll + inventory pairs, inventory {what}"),
        Unit::PerSecond,
        outcome.rate() / 2.0,
        ">= 4,800",
    );
    detail(report, &outcome, service.cpu()? - cpu, "<= 0.19")?;
    service.settle().await
}

fn detail(report: &mut Report, outcome: &Outcome, cpu: f64, goal: &str) -> Result<()> {
    ensure!(outcome.refused == 0, "{} requests were refused", outcome.refused);
    report.line(
        "  CPU per request, service + database",
        Unit::MsEach,
        cpu * 1e3 / outcome.answered as f64,
        goal,
    );
    report.line("  p50", Unit::Ms, outcome.latency(0.5).as_secs_f64() * 1e3, "");
    report.line("  p99", Unit::Ms, outcome.latency(0.99).as_secs_f64() * 1e3, "");
    Ok(())
}

/// From sending a report until the validations that it changes can be read.
async fn visible(report: &mut Report, service: &Service, host: &SimHost) -> Result<()> {
    let mut connection = Connection::open(service.address).await?;
    let path = format!("{}/{}", host.hosts_path(), host.id);
    let mut times = Vec::new();
    for round in 0..20 {
        let mut inventory = host.inventory(1_000_000 + round);
        // Too little memory in one round, enough in the next: the validation has to turn each time.
        let enough = round % 2 == 1;
        if let (false, Some(memory)) = (enough, &mut inventory.memory) {
            memory.physical_bytes = 1 << 30;
            memory.usable_bytes = 1 << 30;
        }
        let reply = json!({"step_type": "inventory", "step_id": "inventory-0", "output": serde_json::to_string(&inventory)?});
        let started = Instant::now();
        connection.json(Method::POST, &host.instructions_path(), &reply).await?;
        loop {
            let shown = connection.json(Method::GET, &path, &Value::Null).await?;
            let validations: Value =
                serde_json::from_str(shown["validations_info"].as_str().unwrap_or("null"))?;
            let memory = validations["hardware"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|entry| entry["id"] == "has-min-memory");
            if memory.is_some_and(|entry| (entry["status"] == "success") == enough) {
                break;
            }
            ensure!(
                started.elapsed() < Duration::from_secs(10),
                "the validations never changed: {validations}"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        times.push(started.elapsed());
    }
    times.sort_unstable();
    report.line(
        "report until its validations are visible, median",
        Unit::Ms,
        times[10].as_secs_f64() * 1e3,
        "< 50",
    );
    report.line("  slowest of 20", Unit::Ms, times[19].as_secs_f64() * 1e3, "");
    Ok(())
}
