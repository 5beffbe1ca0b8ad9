//! The core of Cluster API judges: a cluster that a ClusterClass makes, whose topology is all that anybody writes.

use std::time::Instant;

use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_simhost::topology::Topology;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::core_steps::{agent, available, booted, cluster_is, delete, install, joins, machines};
use crate::core_world::{NEXT_VERSION, World};
use crate::everything_shapes::{HOSTS, names};
use crate::upgrade::{cluster_version, tells};
use crate::world::wait;

/// What a person writes.
async fn topology(world: &World, place: &str, value: Value) {
    let change = json!([{"op": "replace", "path": format!("/spec/topology/{place}"), "value": value}]);
    let change = format!("--patch={change}");
    world.kubectl(&["patch", "cluster", "demo", "--type=json", &change]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_by_a_class() {
    let world = World::launch().await;
    let began = Instant::now();
    world.apply_class().await;
    let all = booted(&world, HOSTS).await;
    let hosts = machines(&world, Topology::Ha, &names(&all)).await;
    install(&world, &all).await;
    hosts.abort();
    cluster_is(&world, "TopologyReconciled").await;
    println!("the Cluster is available after {:.0?}\n{}", began.elapsed(), world.described().await);
    assert!(world.site.find::<Secret>("demo-kubeconfig").await.is_some());
    let plane = world.site.find::<Plane>("demo").await.unwrap();
    assert_eq!((plane.spec.version.as_str(), plane.spec.distribution_version.as_str()), ("v4.20.0", ""));
    assert_eq!(plane.status.as_ref().unwrap().version, "v4.20.0");
    assert_eq!(plane.spec.config.as_ref().unwrap().api_vips, ["10.0.0.2"]);
    // Each cluster has a template of its own, made from that of the class.
    let template = &plane.spec.machine_template;
    let own = template.spec.as_ref().unwrap().infrastructure_ref.as_ref().unwrap();
    assert!(template.infrastructure_ref.is_none() && own.name != "openshift", "{own:?}");

    // A worker more, and no more.
    topology(&world, "workers/machineDeployments/0/replicas", json!(3)).await;
    let more = booted(&world, HOSTS + 1).await;
    let new = more.iter().find(|booted| !names(&all).contains(&booted.machine)).unwrap().clone();
    joins(&world, &new).await;
    agent(&world, &new.machine, "worker").await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
    available(&world, 3).await;
    world.kubectl(&["annotate", "machine", &new.machine, "cluster.x-k8s.io/delete-machine=yes"]).await;
    topology(&world, "workers/machineDeployments/0/replicas", json!(2)).await;
    world.site.gone::<Machine>(&new.machine).await;
    available(&world, 2).await;

    // Another version of the topology is asked of the cluster's own operator; workers stay until the control plane has it.
    world.hand_out_kubeconfig().await;
    let version = cluster_version(world.spoke_client.clone()).await;
    tells(&version, &[("4.20.0", true)], None).await;
    world.site.merge::<Plane>("demo", json!({"metadata": {"annotations": {"look": "now"}}})).await;
    let runs =
        |plane: &Plane| plane.status.as_ref().is_some_and(|status| status.distribution_version == "4.20.0");
    world.site.until("demo", runs).await;
    topology(&world, "version", json!(format!("v{NEXT_VERSION}"))).await;
    wait("the upgrade is asked for", async || {
        let wanted = version.get("version").await.unwrap().spec.desired_update;
        wanted.is_some_and(|wanted| wanted.version == NEXT_VERSION)
    })
    .await;
    let upgrading = world.site.find::<Plane>("demo").await.unwrap();
    assert_eq!(upgrading.spec.version, format!("v{NEXT_VERSION}"));
    assert_eq!(upgrading.status.unwrap().version, "v4.20.0");
    for booted in &all {
        let machine = world.site.find::<Machine>(&booted.machine).await.unwrap();
        assert!(machine.metadata.deletion_timestamp.is_none(), "{} goes", machine.name_any());
    }

    // What the class is made of stays when a cluster of it goes.
    println!("deleted after {:.0?}", began.elapsed());
    delete(&world).await;
    println!("gone after {:.0?}", began.elapsed());
    let kinds =
        "clusterclass,oacpt,openshiftassistedconfigtemplate,metal3machinetemplate,metal3clustertemplate";
    let left = world.kubectl(&["get", kinds, "--output=name"]).await;
    let left: Vec<_> = left.lines().filter(|name| name.ends_with("/openshift")).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}
