//! What tests under the core of Cluster API do, and wait for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assisted_client::{ClusterFilter, EventFilter, InfraEnvFilter};
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::metal3_machine::Metal3Machine;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_simhost::drive::{self, Target};
use assisted_simhost::host::SimHost;
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use assisted_simhost::world::Site as Network;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::core_world::{World, condition};
use crate::metal3::Booted;
use crate::world::{Object, wait};

/// The MachineDeployment of the examples, and its template.
pub const WORKERS: &str = "demo-workers";
const INSTALLATION: Duration = Duration::from_secs(600);

/// Tells how long each step took, and which events the service told meanwhile: the figures of the documentation.
pub struct Clock {
    last: Instant,
    events: BTreeMap<String, usize>,
}

impl Clock {
    pub fn start() -> Self {
        Self { last: Instant::now(), events: BTreeMap::new() }
    }

    /// A step is over; the line that tells it.
    pub async fn tell(&mut self, world: &World, step: &str) -> String {
        let took = self.last.elapsed();
        let mut events = BTreeMap::new();
        for event in world.rest().list_events(&EventFilter::default()).await.unwrap().events {
            *events.entry(event.name).or_default() += 1;
        }
        let new = |(name, count): (&String, &usize)| {
            let count = count.saturating_sub(self.events.get(name).copied().unwrap_or_default());
            (count > 0).then(|| format!("{name} {count}"))
        };
        let new: Vec<_> = events.iter().filter_map(new).collect();
        let told = format!("figure: {step}: {:.1} s: {}", took.as_secs_f64(), new.join(", "));
        (self.events, self.last) = (events, Instant::now());
        told
    }
}

/// What kubectl shows of the Cluster.
pub async fn cluster(world: &World) -> Value {
    serde_json::from_str(&world.kubectl(&["get", "cluster", "demo", "--output=json"]).await).unwrap()
}

/// Waits until a condition of the Cluster is true; what stands in the way is told otherwise.
pub async fn cluster_is(world: &World, kind: &str) {
    let deadline = Instant::now() + INSTALLATION;
    while condition(&cluster(world).await, kind).0 != "True" {
        if Instant::now() > deadline {
            let state = world.kubectl(&["get", "oacp,machines,oac", "--output=yaml"]).await;
            panic!("{kind} is not true:\n{}\n{state}", world.described().await);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Waits until so many machines have booted.
pub async fn booted(world: &World, count: usize) -> Vec<Booted> {
    let deadline = Instant::now() + INSTALLATION;
    while world.metal3.booted().len() < count {
        assert!(
            Instant::now() < deadline,
            "{count} machines are to boot: {:?}\n{}",
            world.metal3.booted(),
            world.described().await
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    world.metal3.booted()
}

/// The hosts do what they do, until the test ends.
pub async fn machines(
    world: &World,
    topology: Topology,
    infra_envs: &[String],
) -> tokio::task::JoinHandle<()> {
    let shape = Shape::of(topology);
    if shape.has_vips() {
        let network = Network::new(0, shape.needs().unwrap()).unwrap();
        let told = [network.api(), network.ingress()].map(|address| address.to_string());
        assert_eq!(told, ["10.0.0.2", "10.0.0.3"], "those of docs/examples/cluster-api");
    }
    let mut ids = Vec::new();
    for name in infra_envs {
        ids.push(world.infra_env_id(name).await);
    }
    let cluster = world.cluster_id("demo").await;
    let mut plan = Plan::new(shape, 1, 60.0).unwrap().with_existing(cluster, ids[0]).unwrap();
    plan.infra_envs = ids;
    plan.version = "4.20".to_owned();
    plan.hosts_only = true;
    let target = Target::new(world.address);
    tokio::spawn(async move {
        let mut simulation = Simulation::new(plan);
        drive::run(&mut simulation, &target, INSTALLATION, |_, _| true).await.unwrap();
    })
}

/// From booted machines to a Cluster that is available.
pub async fn install(world: &World, machines: &[Booted]) {
    world.hand_out_kubeconfig().await;
    cluster_is(world, "ControlPlaneInitialized").await;
    let deadline = Instant::now() + INSTALLATION;
    loop {
        let state = world.state().await;
        if state == "adding-hosts" {
            break;
        }
        assert!(Instant::now() < deadline, "the installation does not end, it is {state}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    leads_to_the_cluster(world).await;
    for machine in machines {
        world.node(&format!("sim-{}", machine.index), &machine.provider_id).await;
    }
    for kind in ["ControlPlaneAvailable", "ControlPlaneMachinesReady", "WorkersAvailable", "Available"] {
        cluster_is(world, kind).await;
    }
}

/// Waits until the kubeconfig that Cluster API has leads to the cluster. The simulated installer hands out one that leads nowhere, again,
/// when the cluster is installed.
async fn leads_to_the_cluster(world: &World) {
    world.hand_out_kubeconfig().await;
    // The provider that is asked about the change may just be killed.
    let look = Patch::Merge(json!({"metadata": {"annotations": {"look": "now"}}}));
    let planes = world.site.api::<Plane>();
    wait("the control plane is looked at", async || {
        planes.patch("demo", &PatchParams::default(), &look).await.is_ok()
    })
    .await;
    let kubeconfig = world.spoke_kubeconfig().into_bytes();
    let is_it = |secret: &Secret| secret.data.as_ref().is_some_and(|data| data["value"].0 == kubeconfig);
    world.site.until("demo-kubeconfig", is_it).await;
}

/// Waits until a MachineDeployment has so many machines, all of them available.
pub async fn available(world: &World, replicas: i64) {
    wait(&format!("{replicas} workers are available"), async || {
        let told = world.kubectl(&["get", "machinedeployment", "demo-workers", "--output=json"]).await;
        let told: Value = serde_json::from_str(&told).unwrap();
        told["status"]["availableReplicas"] == replicas && told["status"]["replicas"] == replicas
    })
    .await;
}

/// Waits until nothing of a kind is left.
pub async fn none_left<K: Object>(world: &World) {
    let api = world.site.api::<K>();
    let kind = K::kind(&());
    wait(&format!("no {kind} is left"), async || {
        api.list(&ListParams::default()).await.unwrap().items.is_empty()
    })
    .await;
}

/// The Cluster is deleted, and everything goes with it.
pub async fn delete(world: &World) {
    world.kubectl(&["delete", "cluster", "demo", "--wait=false"]).await;
    let deadline = Instant::now() + INSTALLATION;
    while world.site.find::<Cluster>("demo").await.is_some() {
        if Instant::now() > deadline {
            let left = world.kubectl(&["get", "oacp,machines,oac", "--output=yaml"]).await;
            panic!("the Cluster stays:\n{}\n{left}", world.described().await);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    none_left::<Machine>(world).await;
    none_left::<Metal3Machine>(world).await;
    none_left::<OpenshiftAssistedConfig>(world).await;
    none_left::<Plane>(world).await;
    if world.alone {
        assert!(world.rest().list_clusters(&ClusterFilter::default()).await.unwrap().is_empty());
        assert!(world.rest().list_infra_envs(&InfraEnvFilter::default()).await.unwrap().is_empty());
        return;
    }
    none_left::<ClusterDeployment>(world).await;
    none_left::<AgentClusterInstall>(world).await;
    none_left::<InfraEnv>(world).await;
    none_left::<Agent>(world).await;
    let image_sets: Api<ClusterImageSet> = Api::all(world.site.client.clone());
    assert!(image_sets.list(&ListParams::default()).await.unwrap().items.is_empty());
}

/// A host that joins the cluster on day 2 registers by its machine's own infra-env, and tells what it is.
pub async fn joins(world: &World, booted: &Booted) {
    joins_by(world, &booted.machine, booted).await;
}

/// The same, by an infra-env.
pub async fn joins_by(world: &World, infra_env: &str, booted: &Booted) {
    use assisted_service::host::Poll;
    use assisted_wire::host_params::HostCreateParams;
    let host = SimHost::new(world.infra_env_id(infra_env).await, booted.index);
    let key = assisted_core::model::host::HostKey { infra_env_id: host.infra_env_id, host_id: host.id };
    let hosts = world.service.hosts();
    let caller = assisted_service::Caller::admin(host.id.0);
    let discovery_agent_version = world.service.settings().images.agent.clone();
    let params = HostCreateParams { host_id: host.id, discovery_agent_version };
    Box::pin(hosts.register(&caller, host.infra_env_id, params)).await.unwrap();
    let poll = Poll { host: key, timestamp: 0, agent_version: None };
    hosts.get_next_steps(&caller, poll).await.unwrap();
    Box::pin(hosts.post_step_reply(&caller, key, host.inventory_reply(1).unwrap())).await.unwrap();
}

/// The only Agent of an InfraEnv, once it is as its machine wants it.
pub async fn agent(world: &World, infra_env: &str, role: &str) -> Agent {
    let labels = ListParams::default().labels(&format!("infraenvs.agent-install.openshift.io={infra_env}"));
    let agents = world.site.api::<Agent>();
    wait(&format!("the host of {infra_env} is approved as {role}"), async || {
        let found = agents.list(&labels).await.unwrap().items;
        found.iter().any(|agent| agent.spec.approved && agent.spec.role.as_str() == role)
    })
    .await;
    agents.list(&labels).await.unwrap().items.remove(0)
}

/// By which infra-env the host of each machine comes, where machines of the control plane boot disk images and workers the live ISO.
pub fn infra_envs_of(machines: &[Booted]) -> Vec<String> {
    let infra_env_of = |booted: &Booted| match booted.is_control_plane {
        true => booted.machine.clone(),
        false => WORKERS.to_owned(),
    };
    machines.iter().map(infra_env_of).collect()
}

/// Names of all objects of a kind, without those that belong to an owner of this kind.
pub async fn names_without(world: &World, kind: &str, owner: Option<&str>) -> Vec<String> {
    let told = world.kubectl(&["get", kind, "--output=json"]).await;
    let told = serde_json::from_str::<Value>(&told).unwrap();
    let all = told["items"].as_array().unwrap().iter();
    let is_left = |object: &&Value| {
        let owners = object["metadata"]["ownerReferences"].as_array();
        owners.into_iter().flatten().any(|found| Some(found["kind"].as_str().unwrap()) == owner)
    };
    let kept = all.filter(|object| !is_left(object));
    kept.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}
