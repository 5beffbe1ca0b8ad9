//! What `docs/kube-api.md` tells people to type, typed as it stands: from manifests to a cluster, a worker that comes and goes, and away
//! again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::client::from_file;
use assisted_kube::error::optional;
use assisted_simhost::drive::{self, Target};
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use assisted_simhost::world::Site as World;
use assisted_testkit::terminal::{Terminal, typed};
use assisted_wire::host::HostStage;
use assisted_wire::step::StepType;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::Api;
use serde_json::{Value, json};

use super::agent::{boot, infra_env_id, register, report_sufficient, state};
use super::spoke::{Spoke, joins, reach, reach_the_cluster, reply};
use super::world::{SILENCE, Shared, Site, shared, until, wait};

const DOCUMENT: &str = "docs/kube-api.md";
/// How long a command may take, in seconds, whatever time it gives itself.
const LIMIT: u32 = 300;
const INSTALLATION: Duration = Duration::from_secs(300);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with `site` and a kubeconfig.
fn open(hub: &Shared) -> Terminal {
    let terminal = Terminal::open(&[PathBuf::from(hub.kube.kubectl().get_program())], LIMIT).unwrap();
    for file in std::fs::read_dir(root().join("docs/examples/site")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        terminal.write(&format!("site/{name}"), std::fs::read(file.path()).unwrap()).unwrap();
    }
    terminal.write("kubeconfig", std::fs::read(hub.kube.kubeconfig()).unwrap()).unwrap();
    let kubeconfig = terminal.folder().join("kubeconfig").display().to_string();
    terminal.with("KUBECONFIG", kubeconfig)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_typed_from_manifests_to_a_cluster_and_back() {
    let hub = tokio::task::spawn_blocking(shared).await.unwrap();
    let client = from_file(&hub.kube.kubeconfig(), SILENCE).await.unwrap();
    let site = Site { client, namespace: "site", service: hub.service.clone() };
    let terminal = Arc::new(open(hub));
    let document = std::fs::read_to_string(root().join(DOCUMENT)).unwrap();
    let blocks = <[Vec<String>; 6]>::try_from(typed(&document).unwrap());
    let [first, approve, completed, joining, leaving, gone] = blocks
        .unwrap_or_else(|blocks| panic!("{DOCUMENT} has other blocks than this test types: {blocks:#?}"));
    // Somebody types, while machines do what they do.
    let type_in = |block: Vec<String>, agent: &str| {
        let (terminal, agent) = (Arc::clone(&terminal), agent.to_owned());
        tokio::task::spawn_blocking(move || terminal.follow(&block, "AGENT", &agent).unwrap())
    };

    type_in(first, "").await.unwrap();
    let machines = control_plane(hub, &site).await;
    type_in(approve, "").await.unwrap();
    type_in(completed, "").await.unwrap();
    let kubeconfig = std::fs::read_to_string(terminal.folder().join("demo.kubeconfig")).unwrap();
    assert!(kubeconfig.contains("clusters:"), "{kubeconfig}");
    until(&site.api(), "demo", |object: &AgentClusterInstall| {
        let debug = object.status.as_ref().and_then(|status| status.debug_info.as_ref());
        debug.is_some_and(|debug| debug.state == "adding-hosts")
    })
    .await;
    machines.abort();

    // From here on another API server is that of the cluster.
    let spoke = Spoke::lease().await;
    site.merge::<Secret>("demo-admin-kubeconfig", json!({"stringData": {"kubeconfig": spoke.kubeconfig()}}))
        .await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let agent = host.host_id.to_string();
    report_sufficient(&site, host).await;
    let typed = type_in(joining, &agent);
    comes(&site, &spoke, host).await;
    typed.await.unwrap();
    let typed = type_in(leaving, &agent);
    leaves(&site, host).await;
    typed.await.unwrap();
    let nodes = Api::<Node>::all(spoke.client());
    assert!(optional(nodes.get("worker-7").await).unwrap().is_none(), "its node stays");
    assert!(site.service.hosts().described(host).await.unwrap().is_none());

    type_in(gone, "").await.unwrap();
    site.gone::<InfraEnv>("demo").await;
    wait("Agents stay", || async { site.names::<Agent>().await.is_empty() }).await;
    assert!(site.service.clusters().of_object(&site.key("demo")).await.unwrap().is_none());
}

/// The hosts of the control plane boot; they are there when each has told what it is.
async fn control_plane(hub: &'static Shared, site: &Site) -> tokio::task::JoinHandle<()> {
    let shape = Shape::of(Topology::Compact);
    let world = World::new(0, shape.needs().unwrap()).unwrap();
    let told = [world.api(), world.ingress()].map(|address| address.to_string());
    assert_eq!(told, ["10.0.0.2", "10.0.0.3"], "those of docs/examples/site");
    let cluster = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster.id;
    let infra_env = infra_env_id(site, "demo").await;
    let mut plan = Plan::new(shape, 1, 120.0).unwrap().with_existing(cluster, infra_env).unwrap();
    plan.version = "4.20".to_owned();
    plan.hosts_only = true;
    let target = Target::new(hub.address);
    let machines = tokio::spawn(async move {
        let mut simulation = Simulation::new(plan);
        drive::run(&mut simulation, &target, INSTALLATION, |_, _| true).await.unwrap();
    });
    wait("not all hosts have Agents", || async { site.names::<Agent>().await.len() == 3 }).await;
    machines
}

/// The worker does what it is told, up to a node that is ready.
async fn comes(site: &Site, spoke: &Spoke, host: HostKey) {
    let (agents, name) = (site.api::<Agent>(), host.host_id.to_string());
    let is = |expected: &'static str| move |agent: &Agent| state(agent) == expected;
    until(&agents, &name, is("binding")).await;
    boot(site, host).await;
    reach_the_cluster(site, host).await;
    until(&agents, &name, is("installing")).await;
    for stage in [HostStage::StartingInstallation, HostStage::WritingImageToDisk, HostStage::Rebooting] {
        reach(site, host, stage).await;
    }
    joins(site, spoke, host, "worker-7", "walk").await;
}

/// The worker boots the discovery image once more.
async fn leaves(site: &Site, host: HostKey) {
    let (agents, name) = (site.api::<Agent>(), host.host_id.to_string());
    let is = |expected: &'static str| move |agent: &Agent| state(agent) == expected;
    until(&agents, &name, is("reclaiming")).await;
    reply(site, host, StepType::DownloadBootArtifacts, &Value::Null).await;
    until(&agents, &name, is("reclaiming-rebooting")).await;
    boot(site, host).await;
}
