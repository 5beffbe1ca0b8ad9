//! Many installations at once, over HTTP, from the first cluster created to the last one installed.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use assisted_simhost::drive::{self, Target};
use assisted_simhost::load::Meter;
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;

use super::populate::{CONNECTIONS, HOSTS_PER_CLUSTER};
use super::process;
use super::report::{Figure, heading, line, ms};
use super::service::{Engine, Service};

/// An installation that takes longer will not end.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Installs so many three-node clusters.
pub async fn run(engine: Engine, program: &Path, clusters: u32, speed: f64) -> Result<()> {
    heading(&format!(
        "{clusters} three-node installations at once, {speed} times as fast as real, on {engine}"
    ));
    let service = Service::start(engine, program, &["--generator", "simulation"]).await?;
    let meter = Meter::default();
    let target =
        Target { connections: CONNECTIONS, meter: Some(meter.clone()), ..Target::new(service.address) };
    let mut plan =
        Plan::new(Shape { hosts: HOSTS_PER_CLUSTER, ..Shape::of(Topology::Compact) }, clusters, speed)?;
    plan.version.clone_from(&service.version);
    let mut simulation = Simulation::new(plan);
    let (started, cpu, database, own) =
        (Instant::now(), service.cpu()?, service.database_cpu(), process::own_cpu()?);
    let simulated = drive::run(&mut simulation, &target, LIMIT, |_, _| true).await?;
    let (elapsed, cpu, database, own) = (
        started.elapsed().as_secs_f64(),
        service.cpu()? - cpu,
        service.database_cpu() - database,
        process::own_cpu()? - own,
    );
    let results = simulation.results(simulated);
    let wrong: Vec<_> = results.iter().filter(|result| !result.as_expected).collect();
    if let Some(first) = wrong.first() {
        bail!(
            "{} of {clusters} clusters were not installed: {first:#?}\n{:#?}",
            wrong.len(),
            simulation.refusals()
        );
    }
    let requests = meter.take();
    let (memory, peak) = service.memory()?;
    line("wall time", Figure::Seconds(elapsed), "");
    line("  simulated", Figure::Seconds(simulated.as_secs_f64()), "");
    line("installations", Figure::PerSecond(f64::from(clusters) / elapsed), "");
    line("CPU per installation, service + database", Figure::Ms(cpu * 1e3 / f64::from(clusters)), "");
    if engine == Engine::Postgres {
        line("  of that the database", Figure::Ms(database * 1e3 / f64::from(clusters)), "");
    }
    line("  the load generator, besides", Figure::Ms(own * 1e3 / f64::from(clusters)), "");
    line("requests", Figure::PerSecond(requests.count() as f64 / elapsed), "");
    line("  per installation", Figure::Count(requests.count() / u64::from(clusters)), "");
    let each = cpu * 1e3 / requests.count() as f64;
    line("  CPU per request, service + database", Figure::MsEach(each), "<= 0.19");
    line("  p50", ms(requests.quantile(0.5)), "");
    line("  p99", ms(requests.quantile(0.99)), "");
    for (refusal, times) in simulation.refusals() {
        line(&format!("  refused: {refusal}"), Figure::Count(*times), "0");
    }
    line("memory, database apart, afterwards", Figure::Mb(memory), "");
    line("  at its most", Figure::Mb(peak), "");
    Ok(())
}
