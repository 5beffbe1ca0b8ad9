//! The core of Cluster API judges: from the manifests of the documentation to a Cluster that is available, day 2, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::metal3_machine::Metal3Machine;
use assisted_crd::cluster_api::metal3_machine_template::Metal3MachineTemplate;
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
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::core_world::{Booted, NAMESPACE, World, condition};
use crate::world::{Object, wait};

const INSTALLATION: Duration = Duration::from_secs(600);
/// The hosts of the examples: three of the control plane, and two workers.
const HOSTS: usize = 5;
const LIVE_ISO: &str = "openshiftassistedconfig.cluster.x-k8s.io/boot-method: live-iso";

/// What kubectl shows of the Cluster.
async fn cluster(world: &World) -> Value {
    serde_json::from_str(&world.kubectl(&["get", "cluster", "demo", "--output=json"]).await).unwrap()
}

/// Waits until a condition of the Cluster is true; what stands in the way is told otherwise.
async fn cluster_is(world: &World, kind: &str) {
    let deadline = Instant::now() + INSTALLATION;
    while condition(&cluster(world).await, kind).0 != "True" {
        if Instant::now() > deadline {
            let state = world.kubectl(&["get", "aci,agents,machines,oac", "--output=yaml"]).await;
            panic!("{kind} is not true:\n{}\n{state}", world.described().await);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Waits until so many machines have booted.
async fn booted(world: &World, count: usize) -> Vec<Booted> {
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
async fn machines(world: &World, infra_envs: &[String]) -> tokio::task::JoinHandle<()> {
    let shape = Shape::of(Topology::Ha);
    let network = Network::new(0, shape.needs().unwrap()).unwrap();
    let told = [network.api(), network.ingress()].map(|address| address.to_string());
    assert_eq!(told, ["10.0.0.2", "10.0.0.3"], "those of docs/examples/cluster-api");
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

fn state(install: &AgentClusterInstall) -> &str {
    let debug = install.status.as_ref().and_then(|status| status.debug_info.as_ref());
    debug.map(|debug| debug.state.as_str()).unwrap_or_default()
}

/// From booted machines to a Cluster that is available.
async fn install(world: &World, machines: &[Booted]) {
    world.hand_out_kubeconfig().await;
    cluster_is(world, "ControlPlaneInitialized").await;
    let deadline = Instant::now() + INSTALLATION;
    loop {
        let install = world.site.find::<AgentClusterInstall>("demo").await.unwrap();
        if state(&install) == "adding-hosts" {
            break;
        }
        assert!(Instant::now() < deadline, "the installation does not end: {install:#?}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    for machine in machines {
        world.node(&format!("sim-{}", machine.index), &machine.provider_id).await;
    }
    for kind in ["ControlPlaneAvailable", "ControlPlaneMachinesReady", "WorkersAvailable", "Available"] {
        cluster_is(world, kind).await;
    }
}

/// Waits until nothing of a kind is left.
async fn none_left<K: Object>(world: &World) {
    let api = world.site.api::<K>();
    let kind = K::kind(&());
    wait(&format!("no {kind} is left"), async || {
        api.list(&ListParams::default()).await.unwrap().items.is_empty()
    })
    .await;
}

/// The Cluster is deleted, and everything goes with it.
async fn delete(world: &World) {
    world.kubectl(&["delete", "cluster", "demo", "--wait=false"]).await;
    let deadline = Instant::now() + INSTALLATION;
    while world.site.find::<Cluster>("demo").await.is_some() {
        if Instant::now() > deadline {
            let left =
                world.kubectl(&["get", "oacp,machines,oac,infraenvs,agents,aci,cd", "--output=yaml"]).await;
            panic!("the Cluster stays:\n{}\n{left}", world.described().await);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    none_left::<Machine>(world).await;
    none_left::<Metal3Machine>(world).await;
    none_left::<OpenshiftAssistedConfig>(world).await;
    none_left::<Plane>(world).await;
    none_left::<ClusterDeployment>(world).await;
    none_left::<AgentClusterInstall>(world).await;
    none_left::<InfraEnv>(world).await;
    none_left::<Agent>(world).await;
    let image_sets: Api<ClusterImageSet> = Api::all(world.site.client.clone());
    assert!(image_sets.list(&ListParams::default()).await.unwrap().items.is_empty());
}

/// A host that joins the cluster on day 2 registers, and tells what it is.
async fn joins(world: &World, booted: &Booted) {
    use assisted_service::host::Poll;
    use assisted_wire::host_params::HostCreateParams;
    let host = SimHost::new(world.infra_env_id(&booted.machine).await, booted.index);
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
async fn agent(world: &World, infra_env: &str, role: &str) -> Agent {
    let labels = ListParams::default().labels(&format!("infraenvs.agent-install.openshift.io={infra_env}"));
    let agents = world.site.api::<Agent>();
    wait(&format!("the host of {infra_env} is approved as {role}"), async || {
        let found = agents.list(&labels).await.unwrap().items;
        found.iter().any(|agent| agent.spec.approved && agent.spec.role.as_str() == role)
    })
    .await;
    agents.list(&labels).await.unwrap().items.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_from_manifests_to_its_end() {
    let world = World::launch().await;
    let began = Instant::now();
    world.apply_examples(str::to_owned).await;
    let machines_booted = booted(&world, HOSTS).await;
    println!("machines have booted after {:.0?}", began.elapsed());
    let infra_envs: Vec<_> = machines_booted.iter().map(|booted| booted.machine.clone()).collect();
    let control_planes = machines_booted.iter().filter(|booted| booted.is_control_plane).count();
    assert_eq!(control_planes, 3);
    for booted in &machines_booted {
        // What the infrastructure hands to the machine.
        let secret = world.site.find::<Secret>(&booted.machine).await.unwrap();
        let data = secret.data.unwrap();
        assert_eq!(data["format"].0, b"ignition");
        let ignition: Value = serde_json::from_slice(&data["value"].0).unwrap();
        let files = ignition["storage"]["files"].as_array().unwrap();
        assert!(files.iter().any(|file| file["path"] == "/usr/local/bin/set_hostname"));
    }
    let hosts = machines(&world, &infra_envs).await;
    install(&world, &machines_booted).await;
    println!("the Cluster is available after {:.0?}\n{}", began.elapsed(), world.described().await);
    hosts.abort();

    // A worker more.
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=3"]).await;
    let all = booted(&world, HOSTS + 1).await;
    let new = all.iter().find(|booted| !infra_envs.contains(&booted.machine)).unwrap().clone();
    joins(&world, &new).await;
    agent(&world, &new.machine, "worker").await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
    let available = async |replicas: i64| {
        let told = world.kubectl(&["get", "machinedeployment", "demo-workers", "--output=json"]).await;
        let told: Value = serde_json::from_str(&told).unwrap();
        told["status"]["availableReplicas"] == replicas && told["status"]["replicas"] == replicas
    };
    wait("three workers are available", async || available(3).await).await;

    // And no more: the one that is marked goes, with all that was made for it.
    world.kubectl(&["annotate", "machine", &new.machine, "cluster.x-k8s.io/delete-machine=yes"]).await;
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=2"]).await;
    world.site.gone::<Machine>(&new.machine).await;
    world.site.gone::<OpenshiftAssistedConfig>(&new.machine).await;
    world.site.gone::<InfraEnv>(&new.machine).await;
    wait("two workers are available", async || available(2).await).await;

    // A machine of the control plane is given up, and replaced.
    let given_up = infra_envs[0].clone();
    world.kubectl(&["annotate", "machine", &given_up, "cluster.x-k8s.io/remediate-machine="]).await;
    world.site.gone::<Machine>(&given_up).await;
    let before: Vec<_> = all.iter().map(|booted| booted.machine.clone()).collect();
    let all = booted(&world, HOSTS + 2).await;
    let new = all.iter().find(|booted| !before.contains(&booted.machine)).unwrap();
    assert!(new.is_control_plane);
    joins(&world, new).await;
    agent(&world, &new.machine, "master").await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
    let ready = async || {
        let told = world.kubectl(&["get", "oacp", "demo", "--output=json"]).await;
        serde_json::from_str::<Value>(&told).unwrap()["status"]["readyReplicas"] == 3
    };
    wait("three machines of the control plane are ready", async || ready().await).await;
    cluster_is(&world, "Available").await;

    println!("deleted after {:.0?}", began.elapsed());
    delete(&world).await;
    println!("gone after {:.0?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_boots_the_live_iso_whoever_is_killed() {
    let world = Arc::new(World::launch().await);
    let annotated = |text: &str| {
        let plane = "  machineTemplate:\n";
        let text = text.replacen(
            plane,
            &format!("{plane}    metadata:\n      annotations:\n        {LIVE_ISO}\n"),
            1,
        );
        let template = "  name: demo-workers\nspec:\n  template:\n    spec:\n      pullSecretRef:";
        let with = format!(
            "  name: demo-workers\nspec:\n  template:\n    metadata:\n      annotations:\n        {LIVE_ISO}\n    spec:\n      pullSecretRef:"
        );
        text.replacen(template, &with, 1)
    };
    world.apply_examples(annotated).await;
    // Providers and core end wherever they are, again and again.
    let over = Arc::new(AtomicBool::new(false));
    let (killer, ended) = (Arc::clone(&world), Arc::clone(&over));
    let killing = tokio::spawn(async move {
        for pause in (0..).map(|round: u64| 1500 + 700 * (round % 5)) {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if ended.load(Ordering::Relaxed) {
                return;
            }
            if pause == 1500 {
                killer.restart_core().await;
            }
            killer.kill_providers();
            killer.start_providers().await;
        }
    });
    let machines_booted = booted(&world, HOSTS).await;
    for booted in &machines_booted {
        let of = if booted.is_control_plane { "demo-control-plane" } else { "demo-workers" };
        let iso = world.site.find::<InfraEnv>(of).await.unwrap().status.unwrap().iso_download_url;
        let machine = world.site.find::<Metal3Machine>(&booted.machine).await.unwrap();
        let template = world.site.find::<Metal3MachineTemplate>(of).await.unwrap();
        for image in [machine.spec.image, template.spec.template.spec.image] {
            let image = json!(image);
            assert_eq!((&image["url"], &image["format"]), (&json!(iso), &json!("live-iso")));
        }
        let secret = world.site.find::<Secret>(&booted.machine).await.unwrap();
        assert!(secret.data.unwrap()["value"].0.is_empty());
    }
    let infra_envs: Vec<_> = machines_booted
        .iter()
        .map(|booted| if booted.is_control_plane { "demo-control-plane" } else { "demo-workers" }.to_owned())
        .collect();
    let hosts = machines(&world, &infra_envs).await;
    install(&world, &machines_booted).await;
    over.store(true, Ordering::Relaxed);
    killing.await.unwrap();
    hosts.abort();
    // Nothing was made twice.
    let count = async |kind: &str| {
        let told = world.kubectl(&["get", kind, "--output=json"]).await;
        serde_json::from_str::<Value>(&told).unwrap()["items"].as_array().unwrap().len()
    };
    assert_eq!((count("machines").await, count("oac").await, count("infraenvs").await), (HOSTS, HOSTS, 2));
    assert_eq!((count("agents").await, count("metal3machines").await), (HOSTS, HOSTS));
    assert_eq!(NAMESPACE, "demo");
    delete(&world).await;
}
