//! Installations one after the other for as long as is asked, each taken away when it is done: what the service keeps of them shows in its
//! memory and its descriptors.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assisted_simhost::connection::Connection;
use assisted_simhost::drive::{self, Target};
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
/// What is printed on the way: one line for each of so many parts of the time.
const LINES: u32 = 12;
/// What the last quarter may have more than the second one.
const GROWTH: f64 = 1.1;
const DESCRIPTORS: u64 = 8;

/// What the service held at the end of a round.
struct Sample {
    memory: f64,
    descriptors: u64,
}

/// Installs and removes for so long.
pub async fn run(engine: Engine, program: &Path, limit: Duration) -> Result<()> {
    let minutes = limit.as_secs() / 60;
    heading(&format!("{minutes} minutes of installations that are taken away again, on {engine}"));
    let service = Service::start(engine, program, &["--generator", "simulation"]).await?;
    let (started, mut samples, mut told) = (Instant::now(), Vec::new(), 0);
    while started.elapsed() < limit {
        install(&service).await?;
        remove_everything(&service).await?;
        let sample = Sample { memory: service.memory()?.0, descriptors: service.descriptors()? };
        let part = (started.elapsed().as_secs_f64() / limit.as_secs_f64() * f64::from(LINES)) as u32;
        if part > told {
            told = part;
            let elapsed = started.elapsed().as_secs() / 60;
            println!(
                "after {elapsed} minutes and {} installations: {:.1} MB, {} descriptors",
                (samples.len() as u32 + 1) * ROUND,
                sample.memory,
                sample.descriptors
            );
        }
        samples.push(sample);
    }
    judge(&samples)
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

/// Compares the second quarter, when all that is kept for good is there, with the last one.
fn judge(samples: &[Sample]) -> Result<()> {
    let quarter = samples.len() / 4;
    ensure!(quarter > 0, "only {} rounds: give it more time", samples.len());
    let [early, late] = [&samples[quarter..2 * quarter], &samples[samples.len() - quarter..]];
    let memory =
        [early, late].map(|part| part.iter().map(|sample| sample.memory).sum::<f64>() / quarter as f64);
    let descriptors =
        [early, late].map(|part| part.iter().map(|sample| sample.descriptors).max().unwrap_or(0));
    line("installations", Figure::Count(samples.len() as u64 * u64::from(ROUND)), "");
    line("memory in the second quarter, mean", Figure::Mb(memory[0]), "");
    line("  in the last one", Figure::Mb(memory[1]), &format!("<= {:.1} MB", memory[0] * GROWTH));
    line("descriptors in the second quarter, at most", Figure::Count(descriptors[0]), "");
    let most = descriptors[0] + DESCRIPTORS;
    line("  in the last one", Figure::Count(descriptors[1]), &format!("<= {most}"));
    ensure!(memory[1] <= memory[0] * GROWTH, "the service's memory grows");
    ensure!(descriptors[1] <= most, "the service's descriptors become more");
    Ok(())
}
