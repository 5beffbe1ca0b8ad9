//! The core of Cluster API judges: clusters of other shapes than the usual one, and two of one name.

use assisted_crd::cluster_api::labels::label;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_simhost::topology::Topology;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};

use crate::core_steps::{agent, booted, delete, install, machines};
use crate::core_world::World;
use crate::metal3::{Booted, Metal3};
use crate::world::{Site, wait};

/// The hosts of the examples: three of the control plane, and two workers.
pub const HOSTS: usize = 5;

pub fn names(machines: &[Booted]) -> Vec<String> {
    machines.iter().map(|booted| booted.machine.clone()).collect()
}

/// From the examples, changed by the test, to a Cluster that is available.
pub async fn installed(
    topology: Topology,
    control_planes: u32,
    count: usize,
    change: impl Fn(&str) -> String,
) -> World {
    let world = Box::pin(World::launch()).await;
    *world.metal3.control_planes.lock().unwrap() = Some(control_planes);
    world.apply_examples(change).await;
    becomes_available(&world, topology, count).await;
    world
}

/// From manifests that are applied to a Cluster that is available, with so many machines.
pub async fn becomes_available(world: &World, topology: Topology, count: usize) {
    let all = booted(world, count).await;
    let hosts = machines(world, topology, &names(&all)).await;
    Box::pin(install(world, &all)).await;
    hosts.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_single_node() {
    let single = |text: &str| {
        text.replace("replicas: 3", "replicas: 1")
            .replace("  replicas: 2\n", "  replicas: 0\n")
            .replace("    apiVIPs: [10.0.0.2]\n    ingressVIPs: [10.0.0.3]\n", "")
    };
    let world = installed(Topology::Sno, 1, 1, single).await;
    assert_eq!(world.metal3.booted().len(), 1);
    delete(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_with_an_arbiter() {
    let arbiter = |text: &str| {
        let label = "        cluster.x-k8s.io/cluster-name: demo\n    spec:";
        text.replace("replicas: 3", "replicas: 2")
            .replace("  replicas: 2\n  selector", "  replicas: 1\n  selector")
            .replace(
                label,
                &format!(
                    "        {}: \"\"\n        cluster.x-k8s.io/cluster-name: demo\n    spec:",
                    label::ARBITER
                ),
            )
    };
    let world = installed(Topology::Arbiter, 2, 3, arbiter).await;
    let arbiter = world.metal3.booted().into_iter().find(|booted| !booted.is_control_plane).unwrap();
    agent(&world, &arbiter.machine, "arbiter").await;
    delete(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_two_clusters_of_one_name() {
    const OTHER: &str = "other";
    let world = World::launch().await;
    let client = world.site.client.clone();
    let mut own = Namespace::default();
    own.metadata.name = Some(OTHER.to_owned());
    Api::all(client.clone()).create(&PostParams::default(), &own).await.unwrap();
    let other = Site { client: client.clone(), namespace: OTHER, service: world.address };
    let metal3 = Metal3::start(other.clone());
    world.apply_examples(str::to_owned).await;
    world.apply_examples_to(OTHER, str::to_owned).await;
    let machines_booted = booted(&world, HOSTS).await;
    wait("the machines of the other cluster boot", async || metal3.booted().len() == HOSTS).await;
    let id = async |site: &Site| site.find::<ClusterDeployment>("demo").await.unwrap().uid().unwrap();
    assert!(id(&world.site).await != id(&other).await);
    let image_sets: Api<ClusterImageSet> = Api::all(client);
    let named = async || {
        let all = image_sets.list(&ListParams::default()).await.unwrap().items;
        all.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    assert_eq!(named().await, ["demo.demo", "other.demo"]);

    // One goes, and the other one is installed as if there had been none.
    world.kubectl(&["--namespace", OTHER, "delete", "cluster", "demo", "--wait=false"]).await;
    other.gone::<Plane>("demo").await;
    other.gone::<ClusterDeployment>("demo").await;
    assert_eq!(named().await, ["demo.demo"]);
    metal3.stop();
    let hosts = machines(&world, Topology::Ha, &names(&machines_booted)).await;
    install(&world, &machines_booted).await;
    hosts.abort();
    delete(&world).await;
}
