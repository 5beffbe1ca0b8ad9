//! Installations one after the other for as long as is asked, each taken away when it is done: what the service keeps of them shows in its
//! memory and its descriptors.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assisted_simhost::action::{Call, Process};
use assisted_simhost::connection::Connection;
use assisted_simhost::drive::{self, Target};
use assisted_simhost::growth::slope;
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use bytes::Bytes;
use hyper::Method;
use serde_json::Value;

use super::populate::HOSTS_PER_CLUSTER;
use super::report::{Figure, heading, line};
use super::service::{Engine, Service};

/// Clusters that are installed at once.
const ROUND: u32 = 4;
/// Simulated seconds per second.
const SPEED: f64 = 60.0;
/// A round that takes longer will not end.
const LIMIT: Duration = Duration::from_secs(10 * 60);
/// How long the service is left alone before its memory is looked at: what the last writes and answers took is given back after a moment.
const REST: Duration = Duration::from_secs(3);
/// Installations from one printed line to the next.
const EVERY: u32 = 20;
/// The part of the time that is not judged: pages of the database, statements and reports are cached, and each thread fills an arena of the
/// allocator.
const WARM_UP: f64 = 1.0 / 3.0;
/// Rounds after it that tell something.
const LEAST: usize = 4;
/// What memory may grow by after it, as a share of it.
const GROWTH: f64 = 0.05;
/// What there may be more of in the second half of the time after it than in the first.
const DESCRIPTORS: u64 = 8;
/// Entries of caches that may be left of what is gone: a look at a cluster that ends just after it notes its hosts once more.
const ENTRIES: u64 = 8;

/// What the service held at the end of a round, when all was taken away.
struct Sample {
    at: Duration,
    /// So many installations after the start.
    installations: u32,
    /// Megabytes, without the pages of files.
    memory: f64,
    /// Megabytes of it that are cached reports: of hosts that are gone, too, until nobody has wanted them for four minutes.
    reports: f64,
    /// Entries of the caches of clusters, infra-envs and hosts.
    entries: u64,
    descriptors: u64,
}

impl Sample {
    async fn take(service: &Service, at: Duration, installations: u32) -> Result<Self> {
        let (memory, descriptors) = (service.own_memory()?, service.descriptors()?);
        let mut connection = Connection::open(service.address).await?;
        let answer = connection.call(&Call::get(Process::User(0), "/metrics".to_owned())).await?;
        ensure!(answer.is_success(), "/metrics: {}", answer.status);
        let text = String::from_utf8_lossy(&answer.body);
        let reports = sum(&text, "assisted_cache_bytes{")? / 1e6;
        let entries = sum(&text, "assisted_cache_entries{")? as u64;
        Ok(Self { at, installations, memory, reports, entries, descriptors })
    }

    fn print(&self) {
        let (minutes, Self { installations, memory, reports, entries, descriptors, .. }) =
            (self.at.as_secs_f64() / 60.0, self);
        println!(
            "{minutes:7.1} min {installations:6} installations {memory:8.1} MB, cached reports {reports:5.1} MB, {entries} entries, {descriptors} descriptors"
        );
    }
}

/// The sum of the samples of a metric.
fn sum(metrics: &str, start: &str) -> Result<f64> {
    let mut values = metrics.lines().filter(|line| line.starts_with(start)).peekable();
    ensure!(values.peek().is_some(), "the metrics tell nothing of {start}");
    let value = |line: &str| {
        let value = line.rsplit(' ').next().context("a sample without a value")?;
        anyhow::Ok(value.parse::<f64>()?)
    };
    values.map(value).sum()
}

/// Installs and removes for so long.
pub async fn run(engine: Engine, program: &Path, limit: Duration, arenas: Option<u32>) -> Result<()> {
    let minutes = limit.as_secs() / 60;
    heading(&format!("{minutes} minutes of installations that are taken away again, on {engine}"));
    // glibc's, and jemalloc's.
    let variables = |most| {
        [("MALLOC_ARENA_MAX", format!("{most}")), ("MALLOC_CONF", format!("narenas:{most}"))]
            .map(|(name, value)| (name.to_owned(), value))
    };
    let environment = arenas.into_iter().flat_map(variables).collect();
    let service = Service::start_in(engine, program, &["--generator", "simulation"], environment).await?;
    let (started, mut samples) = (Instant::now(), Vec::new());
    while started.elapsed() < limit {
        install(&service).await?;
        remove_everything(&service).await?;
        tokio::time::sleep(REST).await;
        let installations = (samples.len() as u32 + 1) * ROUND;
        let sample = Sample::take(&service, started.elapsed(), installations).await?;
        if installations.is_multiple_of(EVERY) {
            sample.print();
        }
        samples.push(sample);
    }
    judge(&samples, limit)
}

async fn install(service: &Service) -> Result<()> {
    let target = Target::new(service.address);
    let mut plan =
        Plan::new(Shape { hosts: HOSTS_PER_CLUSTER, ..Shape::of(Topology::Compact) }, ROUND, SPEED)?;
    plan.version.clone_from(&service.version);
    let mut simulation = Simulation::new(plan);
    let simulated = drive::run(&mut simulation, &target, LIMIT, |_, _| true).await?;
    match simulation.results(simulated).into_iter().find(|result| !result.as_expected) {
        Some(wrong) => bail!("a cluster was not installed: {wrong:#?}"),
        None => Ok(()),
    }
}

/// Takes clusters, and then infra-envs, away.
async fn remove_everything(service: &Service) -> Result<()> {
    let mut connection = Connection::open(service.address).await?;
    for kind in ["clusters", "infra-envs"] {
        let path = format!("/api/assisted-install/v2/{kind}");
        let listed = connection.json(Method::GET, &path, &Value::Null).await?;
        for one in listed.as_array().with_context(|| format!("no list of {kind}"))? {
            let id = one["id"].as_str().with_context(|| format!("{kind} without an id"))?;
            let status = connection.send(Method::DELETE, &format!("{path}/{id}"), Bytes::new()).await?;
            ensure!(status.is_success(), "DELETE {path}/{id}: {status}");
        }
    }
    Ok(())
}

/// Judges what came after the warm-up: how much memory each further installation has taken for good.
fn judge(samples: &[Sample], limit: Duration) -> Result<()> {
    let warm = limit.mul_f64(WARM_UP);
    let (warming, judged) = samples.split_at(samples.partition_point(|sample| sample.at < warm));
    ensure!(judged.len() >= LEAST, "only {} rounds after the warm-up: give it more time", judged.len());
    let (before, after) = judged.split_at(judged.len() / 2);
    let most = |part: &[Sample]| part.iter().map(|sample| sample.descriptors).max().unwrap_or(0);
    let (before, after) = (most(before), most(after));
    let installations = judged.len() as u32 * ROUND;
    let mean = judged.iter().map(|sample| sample.memory).sum::<f64>() / judged.len() as f64;
    let grown = memory_each(judged) * f64::from(installations);
    let entries = judged.last().map_or(0, |sample| sample.entries);

    line("installations", Figure::Count(samples.len() as u64 * u64::from(ROUND)), "");
    line("  of them after the warm-up", Figure::Count(installations.into()), "");
    line("memory for each in the warm-up", Figure::Kb(memory_each(warming) * 1e3), "");
    line("  for each after it", Figure::Kb(memory_each(judged) * 1e3), "");
    line("memory after the warm-up, mean", Figure::Mb(mean), "");
    line("  grown by", Figure::Mb(grown), &format!("<= {:.1} MB", mean * GROWTH));
    line("entries of caches, all being gone", Figure::Count(entries), &format!("<= {ENTRIES}"));
    line("descriptors after the warm-up, at most", Figure::Count(before), "");
    line("  in the second half of it", Figure::Count(after), &format!("<= {}", before + DESCRIPTORS));
    ensure!(grown <= mean * GROWTH, "the service's memory grows");
    ensure!(entries <= ENTRIES, "caches keep what is gone");
    ensure!(after <= before + DESCRIPTORS, "the service's descriptors become more");
    Ok(())
}

/// Megabytes that each installation adds for good.
fn memory_each(samples: &[Sample]) -> f64 {
    let points: Vec<_> =
        samples.iter().map(|sample| (f64::from(sample.installations), sample.memory)).collect();
    slope(&points)
}
