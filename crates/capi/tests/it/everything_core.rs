//! The core of Cluster API judges: from the manifests of the documentation to a Cluster that is available, day 2, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assisted_client::{ClusterFilter, InfraEnvFilter};
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::metal3_machine::Metal3Machine;
use assisted_crd::cluster_api::metal3_machine_template::Metal3MachineTemplate;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_simhost::topology::Topology;
use assisted_testkit::cluster_api::NEWEST;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use crate::core_steps::{
    Clock, WORKERS, agent, available, booted, cluster_is, delete, infra_envs_of, install, joins, joins_by,
    machines, names_without,
};
use crate::core_world::{NAMESPACE, World};
use crate::metal3::Booted;
use crate::world::wait;

/// The hosts of the examples: three of the control plane, and two workers.
pub const HOSTS: usize = 5;
const LIVE_ISO: &str = "openshiftassistedconfig.cluster.x-k8s.io/boot-method: live-iso";

/// The examples, with workers that boot the live ISO.
pub fn workers_by_live_iso(text: &str) -> String {
    let template = "  name: demo-workers\nspec:\n  template:\n    spec:\n      pullSecretRef:";
    let with = format!(
        "  name: demo-workers\nspec:\n  template:\n    metadata:\n      annotations:\n        {LIVE_ISO}\n    spec:\n      pullSecretRef:"
    );
    text.replacen(template, &with, 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_from_manifests_to_its_end() {
    for line in from_manifests_to_its_end(World::launch().await).await {
        println!("{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_with_the_newest_core() {
    for line in from_manifests_to_its_end(World::launch_by(NEWEST).await).await {
        println!("{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_by_the_older_contract() {
    let world = World::launch().await;
    world.withdraw_contract("v1beta2").await;
    world.apply_examples(str::to_owned).await;
    let machines_booted = booted(&world, HOSTS).await;
    let names: Vec<_> = machines_booted.iter().map(|booted| booted.machine.clone()).collect();
    let hosts = machines(&world, Topology::Ha, &names).await;
    install(&world, &machines_booted).await;
    hosts.abort();
    // The core wrote these kinds as that contract has them, and not otherwise.
    assert_eq!(world.versions_written_by_core("openshiftassistedcontrolplanes").await, ["v1alpha2"]);
    assert_eq!(world.versions_written_by_core("openshiftassistedconfigs").await, ["v1alpha1"]);
    delete(&world).await;
}

/// What is to be shown of it: how long each step took, and what kubectl shows of the Cluster.
async fn from_manifests_to_its_end(world: World) -> Vec<String> {
    let mut told = Vec::new();
    let mut clock = Clock::start();
    world.apply_examples(str::to_owned).await;
    let machines_booted = booted(&world, HOSTS).await;
    told.push(clock.tell(&world, "machines have something to boot").await);
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
    let hosts = machines(&world, Topology::Ha, &infra_envs).await;
    install(&world, &machines_booted).await;
    told.push(clock.tell(&world, "installed").await);
    told.push(world.described().await);
    hosts.abort();

    // A worker more.
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=3"]).await;
    let all = booted(&world, HOSTS + 1).await;
    let new = all.iter().find(|booted| !infra_envs.contains(&booted.machine)).unwrap().clone();
    joins(&world, &new).await;
    agent(&world, &new.machine, "worker").await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
    available(&world, 3).await;
    told.push(clock.tell(&world, "a worker more").await);

    // And no more: the one that is marked goes, with all that was made for it.
    world.kubectl(&["annotate", "machine", &new.machine, "cluster.x-k8s.io/delete-machine=yes"]).await;
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=2"]).await;
    world.site.gone::<Machine>(&new.machine).await;
    world.site.gone::<OpenshiftAssistedConfig>(&new.machine).await;
    world.site.gone::<InfraEnv>(&new.machine).await;
    available(&world, 2).await;
    told.push(clock.tell(&world, "a worker less").await);

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

    told.push(clock.tell(&world, "a machine of the control plane replaced").await);
    delete(&world).await;
    told.push(clock.tell(&world, "deleted").await);
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_boots_the_live_iso_whoever_is_killed() {
    let world = Arc::new(World::launch().await);
    let annotated = |text: &str| {
        let plane = "  machineTemplate:\n";
        let with = format!("{plane}    metadata:\n      annotations:\n        {LIVE_ISO}\n");
        workers_by_live_iso(&text.replacen(plane, &with, 1))
    };
    let mut clock = Clock::start();
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
            killer.kill_providers().await;
            killer.start_providers().await;
        }
    });
    let machines_booted = booted(&world, HOSTS).await;
    println!("{}", clock.tell(&world, "machines have a live ISO to boot").await);
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
    let hosts = machines(&world, Topology::Ha, &infra_envs).await;
    install(&world, &machines_booted).await;
    println!("{}", clock.tell(&world, "installed by live ISOs").await);
    over.store(true, Ordering::Relaxed);
    killing.await.unwrap();
    hosts.abort();
    // Nothing was made twice by the providers. The core, which was ended between two steps of its own, may have left what still belongs
    // to its MachineSet and to no Machine.
    let machines = names_without(&world, "machines", None).await;
    assert_eq!(machines.len(), HOSTS, "{machines:?}");
    assert_eq!(names_without(&world, "oac", Some("MachineSet")).await, machines);
    assert_eq!(names_without(&world, "metal3machines", Some("MachineSet")).await, machines);
    assert_eq!(names_without(&world, "infraenvs", None).await, ["demo-control-plane", "demo-workers"]);
    assert_eq!(names_without(&world, "agents", None).await.len(), HOSTS);
    assert_eq!(NAMESPACE, "demo");
    clock.tell(&world, "counted").await;
    delete(&world).await;
    println!("{}", clock.tell(&world, "deleted").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_with_a_service_alone() {
    let world = World::launch_alone().await;
    let began = Instant::now();
    // Machines of the control plane boot disk images, each with an infra-env of its own, and workers the ISO of the one of their template.
    world.apply_examples(workers_by_live_iso).await;
    let machines_booted = booted(&world, HOSTS).await;
    let infra_envs = infra_envs_of(&machines_booted);
    // Who comes after providers that were killed finds what they have made.
    world.kill_providers().await;
    world.start_providers().await;
    let hosts = machines(&world, Topology::Ha, &infra_envs).await;
    install(&world, &machines_booted).await;
    println!("the Cluster is available after {:.0?}\n{}", began.elapsed(), world.described().await);
    hosts.abort();
    let rest = world.rest();
    let clusters = rest.list_clusters(&ClusterFilter::default()).await.unwrap();
    let all = rest.list_infra_envs(&InfraEnvFilter::default()).await.unwrap();
    assert_eq!((clusters.len(), all.len()), (1, 4), "nothing was made twice");
    assert!(clusters[0].tags.starts_with("capi_"));
    assert_eq!(clusters[0].openshift_version, "4.20.0");

    // A worker more, which has its role before it is installed; and no more: the one that is marked goes from the service, too.
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=3"]).await;
    let all = booted(&world, HOSTS + 1).await;
    let is_new = |booted: &&Booted| machines_booted.iter().all(|before| before.machine != booted.machine);
    let new = all.iter().find(is_new).unwrap().clone();
    let infra_env = world.infra_env_id(WORKERS).await;
    let hosts_before = rest.list_hosts(infra_env).await.unwrap();
    assert_eq!(hosts_before.len(), 2);
    joins_by(&world, WORKERS, &new).await;
    wait("the host that joins has its role", async || {
        let hosts = rest.list_hosts(infra_env).await.unwrap();
        hosts.iter().filter(|host| hosts_before.iter().all(|before| before.id != host.id)).any(|host| {
            host.role.is_some_and(|role| role.as_str() == "worker")
                && host.ignition_config_overrides.contains("kubelet")
        })
    })
    .await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
    available(&world, 3).await;
    world.kubectl(&["annotate", "machine", &new.machine, "cluster.x-k8s.io/delete-machine=yes"]).await;
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=2"]).await;
    world.site.gone::<Machine>(&new.machine).await;
    wait("its host goes, and no other", async || {
        let left = rest.list_hosts(infra_env).await.unwrap();
        left.len() == 2 && hosts_before.iter().all(|before| left.iter().any(|host| host.id == before.id))
    })
    .await;
    available(&world, 2).await;

    println!("deleted after {:.0?}", began.elapsed());
    delete(&world).await;
    println!("gone after {:.0?}", began.elapsed());
}
