//! The objects of the API server, as they were last heard of.

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::AgentClassification;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
pub(super) use assisted_kube::cache::{get, key};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::reflector::{Store, store::Writer};

/// A copy of what the API server holds; of Secrets and ConfigMaps only those with the label that asks for it (kube-api §1.2).
pub(super) struct Cache {
    pub(super) cluster_deployments: Store<ClusterDeployment>,
    pub(super) installs: Store<AgentClusterInstall>,
    pub(super) image_sets: Store<ClusterImageSet>,
    pub(super) infra_envs: Store<InfraEnv>,
    pub(super) nmstate_configs: Store<NMStateConfig>,
    pub(super) agents: Store<Agent>,
    pub(super) classifications: Store<AgentClassification>,
    /// Empty where metal3 is not looked after.
    pub(super) bare_metal_hosts: Store<BareMetalHost>,
    /// Those of InfraEnvs; empty where metal3 inspects no machines with them.
    pub(super) preprovisioning_images: Store<PreprovisioningImage>,
    pub(super) secrets: Store<Secret>,
    pub(super) config_maps: Store<ConfigMap>,
}

/// Where the copy is written.
pub(super) struct Writers {
    pub(super) cluster_deployments: Writer<ClusterDeployment>,
    pub(super) installs: Writer<AgentClusterInstall>,
    pub(super) image_sets: Writer<ClusterImageSet>,
    pub(super) infra_envs: Writer<InfraEnv>,
    pub(super) nmstate_configs: Writer<NMStateConfig>,
    pub(super) agents: Writer<Agent>,
    pub(super) classifications: Writer<AgentClassification>,
    pub(super) bare_metal_hosts: Writer<BareMetalHost>,
    pub(super) preprovisioning_images: Writer<PreprovisioningImage>,
    pub(super) secrets: Writer<Secret>,
    pub(super) config_maps: Writer<ConfigMap>,
}

impl Cache {
    /// An empty copy, and where it is written.
    pub(super) fn new() -> (Self, Writers) {
        let writers = Writers {
            cluster_deployments: Writer::new(()),
            installs: Writer::new(()),
            image_sets: Writer::new(()),
            infra_envs: Writer::new(()),
            nmstate_configs: Writer::new(()),
            agents: Writer::new(()),
            classifications: Writer::new(()),
            bare_metal_hosts: Writer::new(()),
            preprovisioning_images: Writer::new(()),
            secrets: Writer::new(()),
            config_maps: Writer::new(()),
        };
        let cache = Self {
            cluster_deployments: writers.cluster_deployments.as_reader(),
            installs: writers.installs.as_reader(),
            image_sets: writers.image_sets.as_reader(),
            infra_envs: writers.infra_envs.as_reader(),
            nmstate_configs: writers.nmstate_configs.as_reader(),
            agents: writers.agents.as_reader(),
            classifications: writers.classifications.as_reader(),
            bare_metal_hosts: writers.bare_metal_hosts.as_reader(),
            preprovisioning_images: writers.preprovisioning_images.as_reader(),
            secrets: writers.secrets.as_reader(),
            config_maps: writers.config_maps.as_reader(),
        };
        (cache, writers)
    }
}
