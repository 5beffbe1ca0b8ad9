//! What a hub costs: Agents that come, report and are quiet, and a start beside all of them, with a real API server.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::definition;
use assisted_simhost::connection::Connection;
use assisted_simhost::host::SimHost;
use assisted_simhost::plan::PULL_SECRET;
use assisted_testkit::kube::Kube;
use futures::StreamExt;
use hyper::Method;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::crowd::{poll_once, poll_rate};
use super::populate::{Arrivals, RUSH};
use super::report::{Figure, heading, line, ms};
use super::service::{Engine, Service};
use super::visible::report;

/// Where all objects are.
const NAMESPACE: &str = "default";
/// Hosts of an InfraEnv.
const POOL: u32 = 100;
/// How often a report has to be seen in an Agent.
const ROUNDS: u32 = 20;
/// What takes longer never comes.
const LIMIT: Duration = Duration::from_secs(1800);
/// How long a connection to the API server may be silent.
const SILENCE: Duration = Duration::from_secs(330);
/// Kinds that the controllers write or read, as the API server counts requests for them.
const COUNTED: &[&str] = &[
    "agents",
    "agentclassifications",
    "agentclusterinstalls",
    "baremetalhosts",
    "clusterdeployments",
    "clusterimagesets",
    "configmaps",
    "events",
    "infraenvs",
    "nmstateconfigs",
    "preprovisioningimages",
    "secrets",
];

/// So many hosts in pools, each with its Agent.
pub async fn run(engine: Engine, program: &Path, agents: u32, limit: Duration) -> Result<()> {
    heading(&format!("{agents} Agents on a hub, on {engine}"));
    let hub = Arc::new(tokio::task::spawn_blocking(|| Kube::launch(&[])).await??);
    define(&hub)?;
    let environment = vec![
        ("ENABLE_KUBE_API".to_owned(), "true".to_owned()),
        ("KUBECONFIG".to_owned(), hub.kubeconfig().display().to_string()),
        ("NAMESPACE".to_owned(), NAMESPACE.to_owned()),
        // It listens elsewhere after a start, and objects show where it is.
        ("SERVICE_BASE_URL".to_owned(), "http://assisted.example.com".to_owned()),
        ("IMAGE_SERVICE_BASE_URL".to_owned(), "http://images.example.com".to_owned()),
    ];
    let mut service = Service::start_in(engine, program, &[], environment).await?;
    let client = assisted_kube::client::from_file(&hub.kubeconfig(), SILENCE).await?;
    let watched = Watched::follow(Api::namespaced(client, NAMESPACE));

    let hosts = pools(&hub, &service, agents).await?;
    let arrivals = Arrivals::new(&hosts)?;
    let (started, cpu) = (Instant::now(), service.cpu()?);
    arrivals.register(service.address, RUSH).await?;
    tokio::select! {
        all = watched.until_all(&hosts) => all?,
        lost = keep_polling(&service, &hosts) => lost?,
    }
    let rate = f64::from(agents) / started.elapsed().as_secs_f64();
    line("hosts that come until their Agents show inventories", Figure::PerSecond(rate), "");
    line("  CPU of the service, each", Figure::MsEach((service.cpu()? - cpu) * 1e3 / f64::from(agents)), "");
    poll_once(service.address, &hosts).await?;
    service.wait_until_idle().await?;

    let (requests, cpu) = (requests(&hub)?, service.cpu()?);
    let (_, _) = poll_rate(&service, &hosts, limit).await?;
    let seconds = limit.as_secs_f64();
    let quiet = self::requests(&hub)?.since(&requests);
    line("quiet hosts that poll: requests to the API server", Figure::PerSecond(quiet.all() / seconds), "0");
    line("  of that writes", Figure::PerSecond(quiet.writes() / seconds), "0");
    quiet.print();
    line("  CPU of the service", Figure::Cores((service.cpu()? - cpu) / seconds), "");

    seen(&service, &watched, &hosts[0]).await?;
    let (memory, peak) = service.memory()?;
    line("memory of the service", Figure::Mb(memory), "");
    line("  at its most", Figure::Mb(peak), "");

    restart(&hub, &mut service, &watched, &hosts).await
}

/// Each host polls about once a minute, as long as this is awaited: who is not heard for three counts as lost.
async fn keep_polling(service: &Service, hosts: &[SimHost]) -> Result<()> {
    loop {
        poll_once(service.address, hosts).await?;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

/// Defines the kinds.
fn define(hub: &Kube) -> Result<()> {
    let texts: Vec<&str> = definition::OURS.iter().chain(definition::OTHERS).copied().collect();
    create(hub, &texts.join("\n---\n"))?;
    let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=120s"];
    let status = hub.kubectl().args(established).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "the kinds are not established");
    Ok(())
}

fn create(hub: &Kube, documents: &str) -> Result<()> {
    let mut command: Command = hub.kubectl();
    command.args(["create", "-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().context("can't start kubectl")?;
    child.stdin.take().context("no pipe to kubectl")?.write_all(documents.as_bytes())?;
    ensure!(child.wait()?.success(), "the objects are not created");
    Ok(())
}

/// Creates the InfraEnvs for so many hosts; the hosts.
async fn pools(hub: &Kube, service: &Service, agents: u32) -> Result<Vec<SimHost>> {
    let mut documents = vec![json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": NAMESPACE},
        "stringData": {".dockerconfigjson": PULL_SECRET},
    })];
    let pools = agents.div_ceil(POOL);
    documents.extend((0..pools).map(|number| {
        json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": format!("pool-{number}"), "namespace": NAMESPACE},
            "spec": {"pullSecretRef": {"name": "pull"}, "agentApproval": {"autoApprove": true}},
        })
    }));
    let documents: Vec<String> = documents.iter().map(ToString::to_string).collect();
    create(hub, &documents.join("\n---\n"))?;
    let mut connection = Connection::open(service.address).await?;
    let started = Instant::now();
    loop {
        let path = "/api/assisted-install/v2/infra-envs";
        let listed = connection.json(Method::GET, path, &Value::Null).await?;
        let listed = listed.as_array().context("no list of infra-envs")?;
        if listed.len() as u32 == pools {
            let ids = listed.iter().map(|row| row["id"].as_str().context("no id")?.parse().context("no id"));
            let ids = ids.collect::<Result<Vec<_>>>()?;
            return Ok((0..agents).map(|host| SimHost::new(ids[(host / POOL) as usize], host)).collect());
        }
        ensure!(started.elapsed() < LIMIT, "{} of {pools} InfraEnvs have rows", listed.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The Agents, as a watch tells of them.
struct Watched {
    api: Api<Agent>,
    agents: Store<Agent>,
    changed: Arc<Notify>,
}

impl Watched {
    fn follow(api: Api<Agent>) -> Self {
        let (agents, writer) = store();
        let changed = Arc::new(Notify::new());
        let (told, watched) = (Arc::clone(&changed), api.clone());
        tokio::spawn(async move {
            let mut events =
                pin!(watcher(watched, watcher::Config::default()).default_backoff().reflect(writer));
            while events.next().await.is_some() {
                told.notify_waiters();
            }
        });
        Self { api, agents, changed }
    }

    fn get(&self, host: &SimHost) -> Option<Arc<Agent>> {
        self.agents.get(&ObjectRef::new(&host.id.to_string()).within(NAMESPACE))
    }

    /// Waits until an Agent is as it should be.
    async fn until(&self, host: &SimHost, is_so: impl Fn(&Agent) -> bool) -> Result<()> {
        let waited = tokio::time::timeout(LIMIT, async {
            loop {
                let changed = self.changed.notified();
                if self.get(host).is_some_and(|agent| is_so(&agent)) {
                    return;
                }
                changed.await;
            }
        });
        waited.await.with_context(|| format!("the Agent {} does not become what it should be", host.id))
    }

    /// Waits until each host has an Agent that shows its inventory.
    async fn until_all(&self, hosts: &[SimHost]) -> Result<()> {
        let started = Instant::now();
        let mut missing: Vec<&SimHost> = hosts.iter().collect();
        loop {
            missing.retain(|host| !self.get(host).is_some_and(|agent| has_inventory(&agent)));
            if missing.is_empty() {
                return Ok(());
            }
            ensure!(started.elapsed() < LIMIT, "{} Agents show no inventory", missing.len());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn has_inventory(agent: &Agent) -> bool {
    agent.status.as_ref().is_some_and(|status| status.inventory.is_some())
}

/// Whether the validations of an Agent pass.
fn is_valid(agent: &Agent) -> bool {
    let conditions = agent.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|condition| condition.r#type == "Validated" && condition.status == "True")
}

/// From sending a report until the condition that it changes has come to somebody who watches.
async fn seen(service: &Service, watched: &Watched, host: &SimHost) -> Result<()> {
    let mut connection = Connection::open(service.address).await?;
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let (enough, reply) = report(host, round)?;
        let started = Instant::now();
        connection.json(Method::POST, &host.instructions_path(), &reply).await?;
        watched.until(host, |agent| is_valid(agent) == enough).await?;
        // The first may have been so before.
        if round > 0 {
            times.push(started.elapsed());
        }
    }
    times.sort_unstable();
    line("report until its condition has come to who watches, median", ms(times[times.len() / 2]), "< 100");
    line(&format!("  slowest of {ROUNDS}"), ms(times[times.len() - 1]), "");
    Ok(())
}

/// The service is killed and comes back: until it does what an Agent says, and what that cost.
async fn restart(hub: &Kube, service: &mut Service, watched: &Watched, hosts: &[SimHost]) -> Result<()> {
    let host = hosts.last().context("no hosts")?;
    let before = requests(hub)?;
    let started = Instant::now();
    let (ready, _) = service.restart().await?;
    let change = json!({"spec": {"hostname": "after-the-start"}});
    watched.api.patch(&host.id.to_string(), &PatchParams::default(), &Patch::Merge(change)).await?;
    let mut connection = Connection::open(service.address).await?;
    loop {
        let shown = connection.json(Method::GET, &host.path(), &Value::Null).await?;
        if shown["requested_hostname"] == "after-the-start" {
            break;
        }
        ensure!(started.elapsed() < LIMIT, "the service does nothing after its start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    line("start beside all Agents: until the REST API answers", ms(ready), "");
    line("  until an Agent's change is done", Figure::Seconds(started.elapsed().as_secs_f64()), "");
    // Nobody was heard meanwhile; that is no news to tell of.
    poll_once(service.address, hosts).await?;
    service.wait_until_idle().await?;
    let made = requests(hub)?.since(&before);
    // One by this program, and what it changes in the Agent.
    line("  writes to the API server", Figure::Count(made.writes() as u64), "<= 3");
    made.print();
    line("  CPU of the service until it is quiet", Figure::Seconds(service.cpu()?), "");
    let (memory, peak) = service.memory()?;
    line("  memory of the service then", Figure::Mb(memory), "");
    line("    at its most", Figure::Mb(peak), "");
    Ok(())
}

/// Requests that the API server has answered, beside watches: how many, by verb and by what they were for.
struct Requests(BTreeMap<(String, String), f64>);

impl Requests {
    fn since(&self, before: &Self) -> Self {
        let new = |(what, count): (&(String, String), &f64)| {
            let new = count - before.0.get(what).copied().unwrap_or_default();
            (new > 0.0).then(|| (what.clone(), new))
        };
        Self(self.0.iter().filter_map(new).collect())
    }

    fn all(&self) -> f64 {
        // The sum of nothing is -0.
        self.0.values().sum::<f64>() + 0.0
    }

    fn writes(&self) -> f64 {
        let writes = self.0.iter().filter(|((verb, _), _)| is_write(verb));
        writes.map(|(_, count)| count).sum::<f64>() + 0.0
    }

    /// Prints them one by one.
    fn print(&self) {
        for ((verb, what), count) in &self.0 {
            line(&format!("    {verb} {what}"), Figure::Count(*count as u64), "");
        }
    }
}

fn is_write(verb: &str) -> bool {
    matches!(verb, "POST" | "PUT" | "PATCH" | "APPLY" | "DELETE")
}

fn requests(hub: &Kube) -> Result<Requests> {
    let output = hub.kubectl().args(["get", "--raw", "/metrics"]).output().context("can't run kubectl")?;
    ensure!(output.status.success(), "the API server tells no metrics");
    let mut requests = Requests(BTreeMap::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((labels, count)) =
            line.strip_prefix("apiserver_request_total{").and_then(|line| line.rsplit_once("} "))
        else {
            continue;
        };
        let label = |name: &str| {
            let found = labels.split(',').find_map(|label| label.strip_prefix(name)?.strip_prefix("=\""));
            found.map_or("", |value| value.trim_end_matches('"'))
        };
        if !COUNTED.contains(&label("resource")) || label("verb") == "WATCH" {
            continue;
        }
        let count: f64 = count.parse().with_context(|| format!("no number in {line}"))?;
        let what = match label("subresource") {
            "" => label("resource").to_owned(),
            part => format!("{}/{part}", label("resource")),
        };
        *requests.0.entry((label("verb").to_owned(), what)).or_default() += count;
    }
    Ok(requests)
}
