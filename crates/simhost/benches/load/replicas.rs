//! Many hosts on several replicas, which share a PostgreSQL and a bucket behind one address. One of them is killed meanwhile, and started
//! again; no host may be lost by that.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assisted_simhost::drive::Target;
use assisted_simhost::host::SimHost;
use assisted_simhost::load::Outcome;
use assisted_simhost::polls::Polls;
use assisted_testkit::{AwsServer, Balancer, Port, Server};
use assisted_wire::id::HostId;
use clap::Args;
use hyper::Method;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::crowd::{gather, paths};
use super::populate::{CONNECTIONS, HOSTS_PER_CLUSTER, RUSH, each};
use super::process;
use super::report::{Figure, heading, line, ms};
use super::service::{Database, spawn};

/// From one line about the progress to the next.
const PROGRESS: Duration = Duration::from_secs(10);
/// A machine that takes fewer hosts a second does not come to an end.
const LEAST_RATE: u32 = 100;
/// How long it takes at the most until a poll is noted in the database, for which each replica has a second.
const NOTED: Duration = Duration::from_secs(3);
/// How far the clocks of replicas and of this program may differ; two polls of a host lie further apart.
const PRECISION: Duration = Duration::from_millis(500);
/// The share of the wanted polls with which all hosts are held: at the ends of a stretch some are under way.
const ENOUGH: f64 = 0.99;

/// What is measured.
#[derive(Args)]
pub struct Options {
    /// Replicas behind one address
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    replicas: u16,
    /// Hosts that poll, 256 at a time at the most
    #[arg(long, default_value_t = 300_000)]
    hosts: u32,
    /// Seconds between two polls of a host
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,
    /// Seconds for which they are measured
    #[arg(long, default_value_t = 180)]
    seconds: u64,
    /// Kill one replica after a third of that time, and start it again after another one
    #[arg(long)]
    kill: bool,
}

/// A replica, found at one address before and after it is killed.
struct Replica {
    server: Server,
    port: Port,
    dir: tempfile::TempDir,
    /// CPU seconds of its earlier processes, less what all have used before the measurement.
    cpu: f64,
}

impl Replica {
    fn start(site: &Shared) -> Result<Self> {
        let (port, dir) = (Port::free()?, tempfile::tempdir()?);
        let server = site.serve(&port, dir.path())?;
        Ok(Self { server, port, dir, cpu: 0.0 })
    }

    /// CPU seconds since the measurement began.
    fn cpu(&self) -> Result<f64> {
        Ok(self.cpu + process::cpu(self.server.pid())?)
    }

    fn kill(&mut self) -> Result<()> {
        self.cpu = self.cpu()?;
        self.server.kill()?;
        Ok(())
    }

    /// Starts it at the same place with the same data; how long it takes until it listens.
    fn start_again(&mut self, site: &Shared) -> Result<Duration> {
        let began = Instant::now();
        self.server = site.serve(&self.port, self.dir.path())?;
        Ok(began.elapsed())
    }
}

/// What replicas share.
struct Shared {
    program: PathBuf,
    environment: Vec<(String, String)>,
    database: Database,
    _files: AwsServer,
    _keys: tempfile::TempDir,
}

impl Shared {
    fn start(program: &Path) -> Result<Self> {
        let (database, files, keys) = (Database::start()?, AwsServer::start()?, tempfile::tempdir()?);
        let key_file = keys.path().join("seal-keys").display().to_string();
        let environment = [
            ("STORAGE", "s3"),
            ("S3_ENDPOINT_URL", files.url.trim_start_matches("http://")),
            ("S3_BUCKET", "files"),
            ("CREATE_S3_BUCKET", "true"),
            ("AWS_ACCESS_KEY_ID", "me"),
            ("AWS_SECRET_ACCESS_KEY", "hush"),
            // The first replica makes it.
            ("SEAL_KEY_FILE", key_file.as_str()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        Ok(Self { program: program.to_path_buf(), environment, database, _files: files, _keys: keys })
    }

    /// Starts a replica.
    fn serve(&self, port: &Port, dir: &Path) -> Result<Server> {
        let listen = SocketAddr::from(([127, 0, 0, 1], port.number));
        spawn(&self.program, listen, &[], &self.environment, dir, Some(&self.database))
    }
}

/// What was measured while the replicas were in one state.
struct Stretch {
    what: &'static str,
    polls: Outcome,
}

/// Measures replicas with so many hosts.
pub async fn run(program: &Path, options: &Options) -> Result<()> {
    let Options { replicas: count, hosts: crowd, kill, .. } = *options;
    let (interval, span) = (Duration::from_secs(options.interval), Duration::from_secs(options.seconds));
    ensure!(
        !kill || span >= interval * 3,
        "each third has to hold a poll of each host: at least {} seconds",
        options.interval * 3
    );
    let crowd = crowd.max(1).next_multiple_of(HOSTS_PER_CLUSTER);
    let killed = if kill { ", of which one is killed" } else { "" };
    heading(&format!(
        "{crowd} hosts, one poll in {} s each, on replicas behind one address: {count}{killed}",
        options.interval
    ));
    let shared = Shared::start(program)?;
    let mut replicas: Vec<Replica> = (0..count).map(|_| Replica::start(&shared)).collect::<Result<_>>()?;
    let addresses = replicas.iter().map(|replica| replica.server.address()).collect();
    let balancer = Balancer::start(SocketAddr::from(([127, 0, 0, 1], 0)), addresses)?;
    let version = Target::new(balancer.address).default_version().await?;

    let mut hosts = Vec::new();
    let tell = |there: usize| println!("… {there} of {crowd} hosts have come");
    let limit = limit(crowd);
    timeout(limit, gather(balancer.address, &version, &mut hosts, crowd, tell))
        .await
        .with_context(|| format!("not all hosts have come after {} s", limit.as_secs()))??;

    let began = Timestamp::now();
    let mut polls = Polls::begin(balancer.address, RUSH, interval, paths(&hosts));
    // What their coming has left to be done is not what their polls cost.
    let _ = stretch(&mut polls, interval, "at first").await;
    shared.database.tidy_up()?;
    let _ = polls.take();

    let (started, own, database) = (Instant::now(), process::own_cpu()?, shared.database.cpu());
    for replica in &mut replicas {
        replica.cpu = -process::cpu(replica.server.pid())?;
    }
    let mut connections = shared.database.connections();
    let mut stretches = Vec::new();
    let mut ready = None;
    if kill {
        let third = span / 3;
        stretches.push(stretch(&mut polls, third, "before one is killed").await);
        let victim = replicas.first_mut().context("no replica")?;
        victim.kill()?;
        stretches.push(stretch(&mut polls, third, "while it is away").await);
        connections = connections.max(shared.database.connections());
        ready = Some(victim.start_again(&shared)?);
        stretches.push(stretch(&mut polls, third, "once it is back").await);
    } else {
        stretches.push(stretch(&mut polls, span, "in all").await);
    }
    connections = connections.max(shared.database.connections());
    let elapsed = started.elapsed().as_secs_f64();
    let (own, database) = (process::own_cpu()? - own, shared.database.cpu() - database);

    for stretch in &stretches {
        stretch.print(polls.wanted());
    }
    if let Some(ready) = ready {
        line("the killed one: from its start until it listens", ms(ready), "");
    }
    for ((number, replica), taken) in (1..).zip(&replicas).zip(balancer.taken()) {
        let (memory, peak) = process::memory(replica.server.pid())?;
        line(&format!("replica {number}: CPU, the whole time"), Figure::Cores(replica.cpu()? / elapsed), "");
        line("  memory", Figure::Mb(memory), "");
        line("  at its most since its start", Figure::Mb(peak), "");
        line("  connections that it has taken", Figure::Count(taken as u64), "");
    }
    line("CPU of the database", Figure::Cores(database / elapsed), "");
    line("  its connections", Figure::Count(connections as u64), "");
    line("CPU of the load generator with the balancer, besides", Figure::Cores(own / elapsed), "");
    let rate = stretches.iter().map(|stretch| stretch.polls.rate()).fold(f64::INFINITY, f64::min);
    tell_what_was_held(&hosts, rate, polls.wanted());

    let found = look(balancer.address, &hosts, &polls, began);
    let found = timeout(limit, found)
        .await
        .with_context(|| format!("not all hosts are told of after {} s", limit.as_secs()))??;
    found.print();
    ensure!(found.are_none(), "hosts were lost");
    Ok(())
}

/// What it may take at the most to do something with each host.
fn limit(hosts: u32) -> Duration {
    Duration::from_secs(u64::from(60 + hosts / LEAST_RATE))
}

/// Lets the hosts poll for so long.
async fn stretch(polls: &mut Polls, span: Duration, what: &'static str) -> Stretch {
    let began = Instant::now();
    let before = polls.so_far();
    loop {
        let left = span.saturating_sub(began.elapsed());
        if left.is_zero() {
            break;
        }
        sleep(left.min(PROGRESS)).await;
        let (answered, failed) = polls.so_far();
        println!(
            "… {what}: {} of {} s, {} polls answered, {} tries failed",
            began.elapsed().as_secs(),
            span.as_secs(),
            answered - before.0,
            failed - before.1
        );
    }
    Stretch { what, polls: polls.take() }
}

impl Stretch {
    fn print(&self, wanted: f64) {
        let Outcome { answered, refused, .. } = &self.polls;
        let rate = Figure::PerSecond(self.polls.rate());
        line(&format!("polls {}", self.what), rate, &format!("{wanted:.0}"));
        line("  p50", ms(answered.quantile(0.5)), "");
        line("  p99", ms(answered.quantile(0.99)), "");
        line("  longest, from when it was due until it was answered", ms(answered.quantile(1.0)), "");
        line("  tries that failed, and were made again", Figure::Count(*refused), "");
    }
}

/// Says whether this machine could do what was wanted: hosts, database and replicas share it.
fn tell_what_was_held(hosts: &[SimHost], rate: f64, wanted: f64) {
    let all = hosts.len();
    if rate >= wanted * ENOUGH {
        println!(
            "This machine held all of the {all} hosts: {rate:.0} of {wanted:.0} polls a second at the least."
        );
    } else {
        let held = (all as f64 * rate / wanted) as u64;
        println!(
            "This machine did not hold the {all} hosts, only as many polls as {held} make: {rate:.0} of {wanted:.0} a second at the least."
        );
    }
}

/// A host, as a replica tells of it.
struct Seen {
    id: HostId,
    is_disconnected: bool,
    checked_in_at: Timestamp,
}

impl Seen {
    fn read(host: &Value) -> Result<Self> {
        let text = |name: &str| host[name].as_str().with_context(|| format!("a host without {name}"));
        Ok(Self {
            id: text("id")?.parse()?,
            is_disconnected: text("status")? == "disconnected",
            checked_in_at: text("checked_in_at")?.parse()?,
        })
    }
}

/// Hosts that were lost, and how.
struct Lost {
    unknown: u64,
    disconnected: u64,
    /// Their last answered polls are not noted.
    forgotten: u64,
    /// They got no answer to any poll.
    unheard: u64,
}

/// Asks for each host, while all go on polling.
async fn look(address: SocketAddr, hosts: &[SimHost], polls: &Polls, began: Timestamp) -> Result<Lost> {
    let heard = polls.heard();
    sleep(NOTED).await;
    println!("… asking for each host");
    let infra_envs = hosts.chunks(HOSTS_PER_CLUSTER as usize).filter_map(<[SimHost]>::first);
    let lists: Vec<_> = infra_envs.map(SimHost::hosts_path).collect();
    let told = each(address, CONNECTIONS, lists, |connection, path| {
        Box::pin(async move {
            let listed = connection.json(Method::GET, &path, &Value::Null).await?;
            let listed = listed.as_array().context("no list of hosts")?;
            listed.iter().map(Seen::read).collect::<Result<Vec<_>>>()
        })
    });
    let told: HashMap<HostId, Seen> = told.await?.into_iter().flatten().map(|seen| (seen.id, seen)).collect();
    let mut lost = Lost { unknown: 0, disconnected: 0, forgotten: 0, unheard: 0 };
    for (host, heard) in hosts.iter().zip(heard) {
        match (told.get(&host.id), heard) {
            (None, _) => lost.unknown += 1,
            (Some(seen), _) if seen.is_disconnected => lost.disconnected += 1,
            (Some(_), None) => lost.unheard += 1,
            (Some(seen), Some(heard)) if seen.checked_in_at + PRECISION < began + heard => {
                lost.forgotten += 1;
            }
            (Some(_), Some(_)) => {}
        }
    }
    Ok(lost)
}

impl Lost {
    fn print(&self) {
        line("hosts that are not known any more", Figure::Count(self.unknown), "0");
        line("hosts that count as disconnected", Figure::Count(self.disconnected), "0");
        line("hosts whose last answered poll is not noted", Figure::Count(self.forgotten), "0");
        line("hosts of whose polls none was answered", Figure::Count(self.unheard), "0");
    }

    fn are_none(&self) -> bool {
        self.unknown + self.disconnected + self.forgotten + self.unheard == 0
    }
}
