//! The core of Cluster API judges: whoever is killed after each of its writes, before it hears of it, the same cluster comes of it, and
//! nothing of it stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_client::{ClusterFilter, InfraEnvFilter};
use assisted_simhost::topology::Topology;

use crate::core_steps::{Clock, booted, delete, infra_envs_of, install, machines, names_without};
use crate::core_world::World;
use crate::everything_core::{HOSTS, workers_by_live_iso};
use crate::gate::Gate;

/// What the providers write to the Kubernetes API, be it a hub or not.
const OF_PROVIDERS: [&str; 8] = [
    "POST machines",
    "POST metal3machines",
    "POST openshiftassistedconfigs",
    "POST secrets",
    "PATCH metal3machinetemplates",
    "PATCH openshiftassistedconfigs",
    "PATCH openshiftassistedconfigs/status",
    "PATCH openshiftassistedcontrolplanes/status",
];
/// What they write to a hub.
const OF_HUB: [&str; 5] = [
    "POST agentclusterinstalls",
    "POST clusterdeployments",
    "POST clusterimagesets",
    "POST infraenvs",
    "PATCH agents",
];
/// What they write to a service alone.
const OF_SERVICE: [&str; 5] = [
    "POST clusters",
    "POST infra-envs",
    "PATCH infra-envs/hosts",
    "POST clusters/actions/install",
    "DELETE clusters",
];
/// What the core writes.
const OF_CORE: [&str; 8] = [
    "POST metal3machines",
    "POST openshiftassistedconfigs",
    "PATCH machines",
    "PATCH openshiftassistedconfigs",
    "PATCH openshiftassistedcontrolplanes",
    "DELETE machines",
    "DELETE openshiftassistedconfigs",
    "DELETE openshiftassistedcontrolplanes",
];

/// The core gives what it makes a new name each time, and would never come to an end.
const MOST_OF_CORE: usize = 2;

/// Who is killed.
#[derive(Clone, Copy)]
enum Killed {
    Providers,
    Core,
}

impl Killed {
    /// It goes through the gate from now on, and is killed and started again after each of its writes.
    async fn again_and_again(self, world: Arc<World>, gate: Gate) {
        match self {
            Self::Providers => world.write_through(&gate).await,
            Self::Core => world.core_writes_through(&gate).await,
        }
        loop {
            gate.written().await;
            match self {
                Self::Providers => {
                    world.kill_providers().await;
                    gate.open().await;
                    world.start_providers().await;
                }
                Self::Core => {
                    world.kill_core();
                    gate.open().await;
                    world.restart_core().await;
                }
            }
        }
    }
}

/// From manifests to the end of a cluster. Each step that is named was the last one of a life. What is to be shown: how long it took, and
/// how often each step was the last one.
async fn whoever_is_killed(world: World, killed: Killed, named: &[&str]) -> Vec<String> {
    let most = match killed {
        Killed::Providers => usize::MAX,
        Killed::Core => MOST_OF_CORE,
    };
    let (world, gate) = (Arc::new(world), Gate::new(most));
    let killing = tokio::spawn(killed.again_and_again(Arc::clone(&world), gate.clone()));
    let (mut clock, mut told) = (Clock::start(), Vec::new());
    // Machines of the control plane boot disk images, and workers the live ISO.
    world.apply_examples(workers_by_live_iso).await;
    let all = booted(&world, HOSTS).await;
    told.push(clock.tell(&world, "machines have something to boot").await);
    let infra_envs = infra_envs_of(&all);
    let hosts = machines(&world, Topology::Ha, &infra_envs).await;
    install(&world, &all).await;
    told.push(clock.tell(&world, "installed").await);
    hosts.abort();
    nothing_is_there_twice(&world, killed).await;
    delete(&world).await;
    told.push(clock.tell(&world, "deleted").await);
    killing.abort();
    told.extend(steps_were(&gate.steps(), named));
    told
}

async fn nothing_is_there_twice(world: &World, killed: Killed) {
    // The core, when it is killed between two steps of its own, leaves what belongs to its MachineSet and to no Machine.
    let left_by = match killed {
        Killed::Providers => None,
        Killed::Core => Some("MachineSet"),
    };
    let machines = names_without(world, "machines", None).await;
    assert_eq!(machines.len(), HOSTS, "{machines:?}");
    assert_eq!(names_without(world, "openshiftassistedconfigs", left_by).await, machines);
    assert_eq!(names_without(world, "metal3machines", left_by).await, machines);
    let clusters = world.rest().list_clusters(&ClusterFilter::default()).await.unwrap();
    let infra_envs = world.rest().list_infra_envs(&InfraEnvFilter::default()).await.unwrap();
    assert_eq!((clusters.len(), infra_envs.len()), (1, 4));
}

/// How often each step was the last one of a life; each that is named was.
fn steps_were(steps: &BTreeMap<String, usize>, named: &[&str]) -> Vec<String> {
    for step in named {
        assert!(steps.contains_key(*step), "nobody was killed after {step}: {steps:?}");
    }
    let lives: usize = steps.values().sum();
    let all = steps.iter().map(|(step, count)| format!("  {step}: {count}"));
    std::iter::once(format!("killed {lives} times, after:")).chain(all).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_whose_providers_are_killed_after_each_write() {
    let named = [OF_PROVIDERS.as_slice(), &OF_HUB].concat();
    for line in Box::pin(whoever_is_killed(World::launch().await, Killed::Providers, &named)).await {
        println!("{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_service_alone_whose_providers_are_killed_after_each_write() {
    let named = [OF_PROVIDERS.as_slice(), &OF_SERVICE].concat();
    for line in Box::pin(whoever_is_killed(World::launch_alone().await, Killed::Providers, &named)).await {
        println!("{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_cluster_whose_core_is_killed_after_each_write() {
    for line in Box::pin(whoever_is_killed(World::launch().await, Killed::Core, &OF_CORE)).await {
        println!("{line}");
    }
}
