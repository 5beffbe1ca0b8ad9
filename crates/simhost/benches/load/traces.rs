//! What the export of traces costs: the same requests without it, with a collector, and with one that is away.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use assisted_simhost::load::Outcome;
use assisted_testkit::{Answer, Receiver};

use super::discovery::{send_pairs, send_polls};
use super::populate::{Arrivals, CONNECTIONS, HOSTS_PER_CLUSTER, clusters};
use super::report::{Figure, ms, table};
use super::service::{Engine, Service};

/// Hosts that poll and report.
const HOSTS: u32 = 300;
/// Where nobody listens.
const AWAY: &str = "http://127.0.0.1:1";

/// Figures of one way, with what they are.
type Figures = Vec<(&'static str, Figure)>;

/// Measures each way with a service and a database of its own.
pub async fn run(engine: Engine, program: &Path, limit: Duration) -> Result<()> {
    let collector = Receiver::start(Answer::Status(200))?;
    let ways = [("off", None), ("collector", Some(collector.url.as_str())), ("collector away", Some(AWAY))];
    let mut columns = Vec::new();
    for (way, endpoint) in ways {
        let before = received(&collector);
        let mut figures = measure(engine, program, endpoint, limit).await?;
        figures.push(("spans sent", Figure::Mb((received(&collector) - before) as f64 / 1e6)));
        columns.push((way, figures));
    }
    ensure!(received(&collector) > 0, "the collector got nothing");
    table(&format!("Export of traces, {HOSTS} hosts, on {engine}"), &columns);
    Ok(())
}

/// Bytes that a collector has got.
fn received(collector: &Receiver) -> usize {
    collector.received().iter().map(|request| request.body.len()).sum()
}

/// A service that sends its traces to a collector, if one is given.
async fn measure(engine: Engine, program: &Path, endpoint: Option<&str>, limit: Duration) -> Result<Figures> {
    let endpoint = endpoint.map(|url| ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), url.to_owned()));
    let service = Service::start_in(engine, program, &[], endpoint.into_iter().collect()).await?;
    let hosts = clusters(service.address, &service.version, 0..HOSTS / HOSTS_PER_CLUSTER).await?;
    Arrivals::new(&hosts)?.register(service.address, CONNECTIONS).await?;
    service.wait_until_idle().await?;
    let cpu = service.cpu()?;
    let outcome = send_polls(&service, &hosts, limit).await?;
    let mut figures = told("polls", &outcome, service.cpu()? - cpu)?;
    let cpu = service.cpu()?;
    let outcome = send_pairs(&service, &hosts, limit, |round| 2 + round).await?;
    figures.extend(told("polls and changed inventories, one to one", &outcome, service.cpu()? - cpu)?);
    let (_, most) = service.memory()?;
    figures.push(("memory at its most, database apart", Figure::Mb(most)));
    Ok(figures)
}

fn told(what: &'static str, outcome: &Outcome, cpu: f64) -> Result<Figures> {
    ensure!(outcome.refused == 0, "{} requests were refused", outcome.refused);
    let answered = &outcome.answered;
    Ok(vec![
        (what, Figure::PerSecond(outcome.rate())),
        ("  CPU per request, service + database", Figure::MsEach(cpu * 1e3 / answered.count() as f64)),
        ("  p50", ms(answered.quantile(0.5))),
        ("  p99", ms(answered.quantile(0.99))),
    ])
}
