//! What a change of an object is about: the objects that have to be looked at after it (kube-api §1.3).

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::AgentClassification;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::common::NamespacedReference;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::label;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
use assisted_kube::finalizer::is_deleting;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use super::bare_metal_host::{self, boots_anew, is_of_interest};
use super::cache::key;
use super::classification::of_classifications;
use super::hub::Hub;
use super::queues::mark;
use super::referred::manifests_of;
use super::relations::{belongs_to, bound_to, deployment_of, is_synced};
use super::spoke::secret_of;
use crate::cluster::install_of;

pub(super) fn cluster_deployment(
    hub: &Hub,
    before: Option<&ClusterDeployment>,
    after: Option<&ClusterDeployment>,
) {
    let Some(object) = after.or(before) else { return };
    let own = key(object);
    if let Some(name) = install_of(object) {
        mark(&hub.queues.installs, ObjectKey::new(&own.namespace, name));
    }
    let refers = |infra_env: &InfraEnv| {
        let reference = infra_env.spec.cluster_ref.as_ref();
        reference.is_some_and(|reference| reference.name == own.name && reference.namespace == own.namespace)
    };
    for infra_env in hub.cache.infra_envs.state_filter(refers) {
        mark(&hub.queues.infra_envs, key(&*infra_env));
    }
    if after.is_none() {
        hub.spokes.forget(&own);
    }
    mark(&hub.queues.clusters, own);
}

pub(super) fn install(hub: &Hub, before: Option<&AgentClusterInstall>, after: Option<&AgentClusterInstall>) {
    let Some(object) = after.or(before) else { return };
    mark(&hub.queues.clusters, deployment_of(object));
    mark(&hub.queues.installs, key(object));
}

pub(super) fn image_set(hub: &Hub, before: Option<&ClusterImageSet>, after: Option<&ClusterImageSet>) {
    let Some(name) = after.or(before).and_then(|object| object.metadata.name.as_deref()) else { return };
    let refers = |install: &AgentClusterInstall| {
        install.spec.image_set_ref.as_ref().is_some_and(|reference| reference.name == name)
    };
    for install in hub.cache.installs.state_filter(refers) {
        mark(&hub.queues.clusters, deployment_of(&install));
    }
}

pub(super) fn infra_env(hub: &Hub, before: Option<&InfraEnv>, after: Option<&InfraEnv>) {
    let Some(object) = after.or(before) else { return };
    let own = key(object);
    let approval = |object: Option<&InfraEnv>| object.map(|object| object.spec.agent_approval.clone());
    if approval(before) != approval(after) {
        for agent in hub.cache.agents.state_filter(|agent| belongs_to(agent, &own)) {
            mark(&hub.queues.agents, key(&*agent));
        }
    }
    if boots_anew(before, after) {
        let belongs =
            |machine: &BareMetalHost| bare_metal_host::belongs_to(machine, Some(&own.namespace), &own.name);
        for machine in hub.cache.bare_metal_hosts.state_filter(belongs) {
            mark(&hub.queues.bare_metal_hosts, key(&*machine));
        }
    }
    if looked_at_by_images(before) != looked_at_by_images(after) {
        let belongs = |image: &PreprovisioningImage| {
            let labels = image.metadata.labels.as_ref();
            image.metadata.namespace.as_deref() == Some(&own.namespace)
                && labels.and_then(|labels| labels.get(label::INFRA_ENV)) == Some(&own.name)
        };
        for image in hub.cache.preprovisioning_images.state_filter(belongs) {
            mark(&hub.queues.preprovisioning_images, key(&*image));
        }
    }
    mark(&hub.queues.infra_envs, own);
}

/// What of an InfraEnv the images of machines look at.
fn looked_at_by_images(object: Option<&InfraEnv>) -> impl PartialEq {
    object.map(|object| {
        let metadata = &object.metadata;
        (object.spec.clone(), object.status.clone(), metadata.annotations.clone(), is_deleting(metadata))
    })
}

pub(super) fn nmstate_config(hub: &Hub, before: Option<&NMStateConfig>, after: Option<&NMStateConfig>) {
    let Some(object) = after.or(before) else { return };
    let namespace = object.metadata.namespace.clone();
    let selects = |infra_env: &InfraEnv| {
        infra_env.metadata.namespace == namespace && infra_env.spec.nmstate_config_label_selector.is_some()
    };
    for infra_env in hub.cache.infra_envs.state_filter(selects) {
        mark(&hub.queues.infra_envs, key(&*infra_env));
    }
}

pub(super) fn agent(hub: &Hub, before: Option<&Agent>, after: Option<&Agent>) {
    let Some(object) = after.or(before) else { return };
    hub.index.agent(before, after);
    if after.is_none() {
        hub.synced.forget(&key(object));
    }
    mark(&hub.queues.agents, key(object));
    let of_interest = |agent: &Agent| {
        (agent.spec.clone(), agent.metadata.labels.clone(), is_synced(agent).map(str::to_owned))
    };
    if before.map(of_interest) != after.map(of_interest) {
        for cluster in [before, after].into_iter().flatten().filter_map(bound_to) {
            mark(&hub.queues.spokes, cluster.clone());
            mark(&hub.queues.clusters, cluster);
        }
    }
    agent_labels(hub, before, after);
    machines(hub, before, after);
}

/// The machine that an Agent is, by its label, or else by hardware address.
fn machines(hub: &Hub, before: Option<&Agent>, after: Option<&Agent>) {
    if !is_of_interest(before, after) {
        return;
    }
    for agent in [before, after].into_iter().flatten() {
        let labels = agent.metadata.labels.as_ref();
        if let Some(name) = labels.and_then(|labels| labels.get(label::BARE_METAL_HOST)) {
            let namespace = agent.metadata.namespace.clone().unwrap_or_default();
            mark(&hub.queues.bare_metal_hosts, ObjectKey::new(namespace, name));
            continue;
        }
        for machine in hub.index.machines_of(agent) {
            mark(&hub.queues.bare_metal_hosts, machine);
        }
    }
}

pub(super) fn bare_metal_host(hub: &Hub, before: Option<&BareMetalHost>, after: Option<&BareMetalHost>) {
    hub.index.machine(before, after);
    if let Some(object) = after.or(before) {
        mark(&hub.queues.bare_metal_hosts, key(object));
        // Its image has its name.
        mark(&hub.queues.preprovisioning_images, key(object));
    }
}

pub(super) fn preprovisioning_image(
    hub: &Hub,
    before: Option<&PreprovisioningImage>,
    after: Option<&PreprovisioningImage>,
) {
    if let Some(object) = after.or(before) {
        mark(&hub.queues.preprovisioning_images, key(object));
        mark(&hub.queues.bare_metal_hosts, key(object));
    }
}

/// Labels follow the inventory; classifications count Agents by their labels.
fn agent_labels(hub: &Hub, before: Option<&Agent>, after: Option<&Agent>) {
    let Some(object) = after.or(before) else { return };
    let inventory = |agent: Option<&Agent>| {
        agent.and_then(|agent| agent.status.as_ref()).map(|status| status.inventory.clone())
    };
    let is_labelled_anew = before.map(of_classifications) != after.map(of_classifications);
    if is_labelled_anew || before.is_none() || inventory(before) != inventory(after) {
        mark(&hub.queues.agent_labels, key(object));
    }
    if is_labelled_anew {
        let namespace = object.metadata.namespace.clone();
        let within = |other: &AgentClassification| other.metadata.namespace == namespace;
        for classification in hub.cache.classifications.state_filter(within) {
            mark(&hub.queues.classifications, key(&*classification));
        }
    }
}

pub(super) fn classification(
    hub: &Hub,
    before: Option<&AgentClassification>,
    after: Option<&AgentClassification>,
) {
    let Some(object) = after.or(before) else { return };
    mark(&hub.queues.classifications, key(object));
    let namespace = &object.metadata.namespace;
    let asked = |object: &AgentClassification| {
        (object.metadata.uid.clone(), object.spec.clone(), is_deleting(&object.metadata))
    };
    if before.map(asked) != after.map(asked) {
        for agent in hub.cache.agents.state_filter(|agent| agent.metadata.namespace == *namespace) {
            mark(&hub.queues.agent_labels, key(&*agent));
        }
        // Those that share its label may go now, or have to wait.
        for other in hub.cache.classifications.state_filter(|other| other.metadata.namespace == *namespace) {
            mark(&hub.queues.classifications, key(&*other));
        }
    }
}

pub(super) fn secret(hub: &Hub, before: Option<&Secret>, after: Option<&Secret>) {
    let Some(own) = after.or(before).map(key) else { return };
    let deployments = hub.cache.cluster_deployments.state_filter(|deployment| {
        deployment.metadata.namespace.as_deref() == Some(&own.namespace)
            && deployment.spec.pull_secret_ref.as_ref().is_some_and(|reference| reference.name == own.name)
    });
    for deployment in deployments {
        mark(&hub.queues.clusters, key(&*deployment));
    }
    let opened = hub.cache.cluster_deployments.state_filter(|deployment| {
        deployment.metadata.namespace.as_deref() == Some(&own.namespace)
            && secret_of(&key(deployment), Some(deployment)) == own
    });
    for deployment in opened {
        mark(&hub.queues.spokes, key(&*deployment));
    }
    let installs = hub.cache.installs.state_filter(|install| {
        let endpoint = install.spec.ignition_endpoint.as_ref();
        endpoint
            .and_then(|endpoint| endpoint.ca_certificate_reference.as_ref())
            .is_some_and(|reference| reference.name == own.name && reference.namespace == own.namespace)
    });
    for install in installs {
        mark(&hub.queues.clusters, deployment_of(&install));
    }
    let infra_envs = hub.cache.infra_envs.state_filter(|infra_env| {
        infra_env.metadata.namespace.as_deref() == Some(&own.namespace)
            && infra_env.spec.pull_secret_ref.name == own.name
    });
    for infra_env in infra_envs {
        mark(&hub.queues.infra_envs, key(&*infra_env));
    }
    let agents = hub.cache.agents.state_filter(|agent| {
        let token = agent.spec.ignition_endpoint_token_reference.as_ref();
        token.is_some_and(|token| token.name == own.name && token.namespace == own.namespace)
            || agent.spec.fencing_credentials_secret_ref == own.name
                && agent.metadata.namespace.as_deref() == Some(&own.namespace)
    });
    for agent in agents {
        mark(&hub.queues.agents, key(&*agent));
    }
}

pub(super) fn config_map(hub: &Hub, before: Option<&ConfigMap>, after: Option<&ConfigMap>) {
    let Some(own) = after.or(before).map(key) else { return };
    let is_own = |reference: Option<&NamespacedReference>| {
        reference.is_some_and(|reference| reference.name == own.name && reference.namespace == own.namespace)
    };
    let installs = hub.cache.installs.state_filter(|install| {
        is_own(install.spec.mirror_registry_ref.as_ref())
            || install.metadata.namespace.as_deref() == Some(&own.namespace)
                && manifests_of(install).contains(&own.name.as_str())
    });
    for install in installs {
        mark(&hub.queues.clusters, deployment_of(&install));
    }
    let infra_envs =
        hub.cache.infra_envs.state_filter(|infra_env| is_own(infra_env.spec.mirror_registry_ref.as_ref()));
    for infra_env in infra_envs {
        mark(&hub.queues.infra_envs, key(&*infra_env));
    }
}
