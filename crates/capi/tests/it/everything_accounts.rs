//! The core of Cluster API judges: a service alone that asks for accounts, over TLS. What is wrong with token or authority is told by the
//! objects, with what to do, and is over as soon as it is mended.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use assisted_client::InfraEnvFilter;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig as Config;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane as Plane;
use assisted_crd::condition::find;
use assisted_simhost::topology::Topology;
use assisted_testkit::Authority;
use assisted_wire::identity::PersonRole;
use assisted_wire::infra_env::InfraEnvCreateParams;
use assisted_wire::secret::Secret;
use kube::api::ListParams;
use serde_json::json;

use crate::core_steps::{available, booted, delete, install, joins, machines};
use crate::core_world::World;
use crate::everything_shapes::{HOSTS, names};
use crate::world::wait;

const LONG: Duration = Duration::from_secs(3600);

/// Waits until a condition of the control plane has a status, and words in its message.
async fn plane_says(world: &World, kind: &str, status: &str, words: &[&str]) {
    let says = |plane: &Plane| {
        let conditions = plane.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        find(conditions, kind).is_some_and(|found| {
            found.status == status && words.iter().all(|word| found.message.contains(word))
        })
    };
    world.site.until("demo", says).await;
}

/// Waits until some machine's config says why it has nothing to boot.
async fn some_config_says(world: &World, words: &[&str]) {
    let configs = world.site.api::<Config>();
    wait(&format!("a config says {words:?}"), async || {
        let all = configs.list(&ListParams::default()).await.unwrap().items;
        all.iter().any(|config| {
            let conditions =
                config.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            find(conditions, "DataSecretAvailable").is_some_and(|found| {
                found.reason == "WaitingForAssistedInstaller"
                    && words.iter().all(|word| found.message.contains(word))
            })
        })
    })
    .await;
}

const WRONG: [&str; 3] = ["401", "assisted token create", "the member token of the Secret assisted-service"];

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_service_with_accounts() {
    let world = World::launch_with_accounts().await;
    let door = world.door.as_ref().unwrap();
    let began = Instant::now();
    world.apply_examples(str::to_owned).await;
    plane_says(
        &world,
        "Available",
        "False",
        &["token: No such file", "put it into the Secret that is mounted there"],
    )
    .await;
    door.show("asst_nonsense").await;
    door.trust(Some(&Authority::new("other").unwrap())).await;
    let remedy = ["the member ca.crt of the Secret assisted-service"];
    plane_says(&world, "Available", "False", &remedy).await;
    door.trust(None).await;
    plane_says(&world, "Available", "False", &WRONG).await;
    let viewer = door.token(PersonRole::Viewer, "viewer", LONG).await;
    door.show(&viewer).await;
    plane_says(&world, "Available", "False", &["403", "a token with the role editor"]).await;
    plane_says(&world, "ClusterDescribed", "False", &["403"]).await;
    let expiring = door.token(PersonRole::Editor, "short", Duration::from_secs(1)).await;
    wait("the token expires", async || !door.takes(&expiring).await).await;
    door.show(&expiring).await;
    plane_says(&world, "Available", "False", &WRONG).await;

    // Of all roles, editor is the least that suffices: from here on nothing else is shown to the end.
    let good = door.token(PersonRole::Editor, "capi", LONG).await;
    door.show(&good).await;
    let all = booted(&world, HOSTS).await;
    println!("machines have booted after {:.0?}", began.elapsed());
    let hosts = machines(&world, Topology::Ha, &names(&all)).await;
    install(&world, &all).await;
    hosts.abort();
    println!("the Cluster is available after {:.0?}", began.elapsed());
    plane_says(&world, "ClusterDescribed", "True", &[]).await;

    // Day 2: what is available stays so, and a worker waits.
    door.show(&expiring).await;
    plane_says(&world, "ClusterDescribed", "False", &WRONG).await;
    plane_says(&world, "Available", "True", &[]).await;
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=3"]).await;
    some_config_says(&world, &WRONG).await;
    assert_eq!(world.metal3.booted().len(), HOSTS);
    door.show(&good).await;
    let more = booted(&world, HOSTS + 1).await;
    let new = more.iter().find(|booted| !names(&all).contains(&booted.machine)).unwrap().clone();
    joins(&world, &new).await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
    available(&world, 3).await;
    plane_says(&world, "ClusterDescribed", "True", &[]).await;

    // And no more: its infra-env goes from the service with it, and no other. So does a second one of its name: who was killed while it
    // was about to make one may have been heard after all.
    let infra_envs = async || {
        let all = world.rest().list_infra_envs(&InfraEnvFilter::default()).await.unwrap();
        all.iter().map(|infra_env| infra_env.id).collect::<BTreeSet<_>>()
    };
    let own = world.infra_env_id(&new.machine).await;
    let mut left = infra_envs().await;
    assert!(left.remove(&own));
    let rest = world.rest();
    let twin: InfraEnvCreateParams = serde_json::from_value(json!({
        "name": rest.get_infra_env(own).await.unwrap().name,
        "pull_secret": r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#,
        "openshift_version": "4.20",
    }))
    .unwrap();
    // Of the same account: what others have is not seen.
    door.client(Some(Secret::from(good.as_str()))).register_infra_env(&twin).await.unwrap();
    world.kubectl(&["annotate", "machine", &new.machine, "cluster.x-k8s.io/delete-machine=yes"]).await;
    world.kubectl(&["scale", "machinedeployment", "demo-workers", "--replicas=2"]).await;
    world.site.gone::<Machine>(&new.machine).await;
    wait("its infra-envs go with it", async || infra_envs().await.len() <= left.len()).await;
    assert_eq!(infra_envs().await, left);
    available(&world, 2).await;

    // The end waits, and says for what.
    door.show("asst_nonsense").await;
    plane_says(&world, "ClusterDescribed", "False", &WRONG).await;
    world.kubectl(&["delete", "cluster", "demo", "--wait=false"]).await;
    some_config_says(&world, &WRONG).await;
    door.show(&good).await;
    delete(&world).await;
    println!("gone after {:.0?}", began.elapsed());
}
