//! What a change is about: the configs that have to be looked at after it.

use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::labels::label;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_kube::cache::key;
use assisted_reconcile::objects::mark;
use kube::ResourceExt;

use super::decide::BootMethod;
use super::provider::{Provider, config_of, machine_owner};
use crate::installer::Change;

pub(super) fn config<I>(provider: &Provider<I>, config: &OpenshiftAssistedConfig) {
    mark(&provider.queue, key(config));
}

pub(super) fn machine<I>(provider: &Provider<I>, machine: &Machine) {
    if let Some(config) = config_of(machine) {
        mark(&provider.queue, config);
    }
}

pub(super) fn cluster<I>(provider: &Provider<I>, cluster: &Cluster) {
    of_cluster(provider, cluster.metadata.namespace.as_deref(), &cluster.name_any());
}

fn of_cluster<I>(provider: &Provider<I>, namespace: Option<&str>, name: &str) {
    let is_of_cluster = |machine: &Machine| {
        machine.metadata.namespace.as_deref() == namespace
            && machine.labels().get(label::CLUSTER_NAME).unwrap_or(&machine.spec.cluster_name) == name
    };
    for found in provider.cache.machines.state_filter(is_of_cluster) {
        machine(provider, &found);
    }
}

pub(super) fn installer<I>(provider: &Provider<I>, change: &Change) {
    match change {
        Change::All => {
            for found in provider.cache.configs.state() {
                mark(&provider.queue, key(&*found));
            }
        }
        Change::Cluster(cluster) => of_cluster(provider, Some(&cluster.namespace), &cluster.name),
        Change::InfraEnv(infra_env) => {
            // An infra-env is named as the one machine that it is for, or else shared by all that boot it.
            let boots = |config: &OpenshiftAssistedConfig| {
                config.metadata.namespace.as_deref() == Some(&infra_env.namespace)
                    && (machine_owner(config).is_some_and(|owner| owner.name == infra_env.name)
                        || matches!(BootMethod::of(config), Ok(BootMethod::LiveIso)))
            };
            for found in provider.cache.configs.state_filter(boots) {
                mark(&provider.queue, key(&*found));
            }
        }
    }
}
