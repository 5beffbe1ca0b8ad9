//! The core of Cluster API judges: workers that come and go, one that never comes, and an upgrade.

use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_simhost::topology::Topology;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::core_steps::{Clock, agent, available, booted, cluster_is, delete, joins};
use crate::core_world::{NEXT_VERSION, World};
use crate::everything_shapes::{HOSTS, installed, names};
use crate::metal3::Booted;
use crate::upgrade::{cluster_version, tells};
use crate::world::wait;

/// A health check that gives up a worker which is no node half a minute after it has booted.
const HEALTH_CHECK: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: demo-workers
spec:
  clusterName: demo
  selector:
    matchLabels:
      cluster.x-k8s.io/deployment-name: demo-workers
  checks:
    nodeStartupTimeoutSeconds: 30
";

/// A worker that has booted becomes a node.
async fn comes(world: &World, new: &Booted) {
    joins(world, new).await;
    agent(world, &new.machine, "worker").await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
}

async fn scale(world: &World, replicas: usize) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["scale", "machinedeployment", "demo-workers", &replicas]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_on_day_two() {
    let world = installed(Topology::Ha, 3, HOSTS, str::to_owned).await;
    let first = names(&world.metal3.booted());
    let mut clock = Clock::start();
    clock.tell(&world, "before").await;
    // Five workers, and back.
    scale(&world, 5).await;
    let all = booted(&world, HOSTS + 3).await;
    let new: Vec<_> = all.iter().filter(|booted| !first.contains(&booted.machine)).cloned().collect();
    for worker in &new {
        comes(&world, worker).await;
    }
    available(&world, 5).await;
    println!("{}", clock.tell(&world, "five workers").await);
    for worker in &new {
        world.kubectl(&["annotate", "machine", &worker.machine, "cluster.x-k8s.io/delete-machine=yes"]).await;
    }
    scale(&world, 2).await;
    for worker in &new {
        world.site.gone::<Machine>(&worker.machine).await;
    }
    available(&world, 2).await;
    println!("{}", clock.tell(&world, "two workers").await);

    // A machine that never comes is given up, and another one comes.
    world.apply("demo", HEALTH_CHECK.to_owned()).await;
    let before = names(&world.metal3.booted());
    scale(&world, 3).await;
    let all = booted(&world, HOSTS + 4).await;
    let lost = all.iter().find(|booted| !before.contains(&booted.machine)).unwrap().clone();
    world.site.gone::<Machine>(&lost.machine).await;
    let before = names(&all);
    let all = booted(&world, HOSTS + 5).await;
    comes(&world, all.iter().find(|booted| !before.contains(&booted.machine)).unwrap()).await;
    available(&world, 3).await;
    println!("{}", clock.tell(&world, "a machine that never comes").await);

    delete(&world).await;
}

/// By its own operator; machines stay.
#[tokio::test(flavor = "multi_thread")]
async fn everything_of_an_upgrade() {
    let world = installed(Topology::Ha, 3, HOSTS, str::to_owned).await;
    let machines = async || {
        let all = world.site.api::<Machine>().list(&ListParams::default()).await.unwrap().items;
        all.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    let before = machines().await;
    // The simulated installer has handed out one that leads nowhere, again, when the cluster was installed.
    world.hand_out_kubeconfig().await;
    let version = cluster_version(world.spoke_client.clone()).await;
    tells(&version, &[("4.20.0", true)], None).await;
    let runs = async |wanted: &'static str| {
        let is_it =
            |plane: &Plane| plane.status.as_ref().is_some_and(|status| status.distribution_version == wanted);
        world.site.merge::<Plane>("demo", json!({"metadata": {"annotations": {"look": wanted}}})).await;
        world.site.until("demo", is_it).await;
    };
    runs("4.20.0").await;
    let mut clock = Clock::start();
    clock.tell(&world, "before").await;
    world.site.merge::<Plane>("demo", json!({"spec": {"distributionVersion": NEXT_VERSION}})).await;
    wait("the upgrade is asked for", async || {
        let wanted = version.get("version").await.unwrap().spec.desired_update;
        wanted.is_some_and(|wanted| wanted.version == NEXT_VERSION)
    })
    .await;
    tells(&version, &[(NEXT_VERSION, true), ("4.20.0", true)], None).await;
    runs(NEXT_VERSION).await;
    cluster_is(&world, "Available").await;
    println!("{}", clock.tell(&world, "upgraded").await);
    assert_eq!(machines().await, before);
    delete(&world).await;
}
