//! A set of objects that were read from files.

use std::collections::BTreeMap;

use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Document, Objects};

/// Namespace and name.
type Key = (String, String);

/// Objects of files, by kind, namespace and name.
#[derive(Debug, Default)]
pub struct Manifests {
    cluster_deployments: BTreeMap<Key, ClusterDeployment>,
    agent_cluster_installs: BTreeMap<Key, AgentClusterInstall>,
    infra_envs: BTreeMap<Key, InfraEnv>,
    nmstate_configs: BTreeMap<Key, NMStateConfig>,
    image_sets: BTreeMap<Key, ClusterImageSet>,
    bare_metal_hosts: BTreeMap<Key, BareMetalHost>,
    secrets: BTreeMap<Key, Secret>,
    config_maps: BTreeMap<Key, ConfigMap>,
    others: Vec<String>,
}

/// Two objects have the same kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name:?} stands there twice; which of the two is meant can't be told")]
pub struct Ambiguous {
    kind: &'static str,
    name: String,
}

impl Manifests {
    /// Adds an object.
    ///
    /// # Errors
    /// When it is there already.
    pub fn add(&mut self, document: Document) -> Result<(), Ambiguous> {
        match document {
            Document::ClusterDeployment(object) => {
                put(&mut self.cluster_deployments, "ClusterDeployment", key(&object.metadata), *object)
            }
            Document::AgentClusterInstall(object) => {
                put(&mut self.agent_cluster_installs, "AgentClusterInstall", key(&object.metadata), *object)
            }
            Document::InfraEnv(object) => {
                put(&mut self.infra_envs, "InfraEnv", key(&object.metadata), *object)
            }
            Document::NMStateConfig(object) => {
                put(&mut self.nmstate_configs, "NMStateConfig", key(&object.metadata), *object)
            }
            Document::ClusterImageSet(object) => {
                put(&mut self.image_sets, "ClusterImageSet", unscoped(&object.metadata), *object)
            }
            Document::BareMetalHost(object) => {
                put(&mut self.bare_metal_hosts, "BareMetalHost", key(&object.metadata), *object)
            }
            Document::Secret(object) => put(&mut self.secrets, "Secret", key(&object.metadata), *object),
            Document::ConfigMap(object) => {
                put(&mut self.config_maps, "ConfigMap", key(&object.metadata), *object)
            }
            Document::Other { kind, namespace, name } => {
                let place = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
                self.others.push(format!("{kind} {place}"));
                Ok(())
            }
        }
    }

    /// The ClusterDeployments, by namespace and name.
    pub fn cluster_deployments(&self) -> impl Iterator<Item = &ClusterDeployment> {
        self.cluster_deployments.values()
    }

    /// The AgentClusterInstalls, by namespace and name.
    pub fn agent_cluster_installs(&self) -> impl Iterator<Item = &AgentClusterInstall> {
        self.agent_cluster_installs.values()
    }

    /// The InfraEnvs, by namespace and name.
    pub fn infra_envs(&self) -> impl Iterator<Item = &InfraEnv> {
        self.infra_envs.values()
    }

    /// The NMStateConfigs of all namespaces.
    pub fn all_nmstate_configs(&self) -> impl Iterator<Item = &NMStateConfig> {
        self.nmstate_configs.values()
    }

    /// The BareMetalHosts, by namespace and name.
    pub fn bare_metal_hosts(&self) -> impl Iterator<Item = &BareMetalHost> {
        self.bare_metal_hosts.values()
    }

    /// Kind, namespace and name of each object that asks nothing of the service.
    pub fn others(&self) -> &[String] {
        &self.others
    }

    /// A ClusterDeployment.
    pub fn cluster_deployment(&self, namespace: &str, name: &str) -> Option<&ClusterDeployment> {
        get(&self.cluster_deployments, namespace, name)
    }

    /// An AgentClusterInstall.
    pub fn agent_cluster_install(&self, namespace: &str, name: &str) -> Option<&AgentClusterInstall> {
        get(&self.agent_cluster_installs, namespace, name)
    }
}

impl Objects for Manifests {
    fn secret(&self, namespace: &str, name: &str) -> Option<&Secret> {
        get(&self.secrets, namespace, name)
    }

    fn config_map(&self, namespace: &str, name: &str) -> Option<&ConfigMap> {
        get(&self.config_maps, namespace, name)
    }

    fn image_set(&self, name: &str) -> Option<&ClusterImageSet> {
        get(&self.image_sets, "", name)
    }

    fn nmstate_configs(&self, namespace: &str) -> Vec<&NMStateConfig> {
        let within = self.nmstate_configs.iter().filter(|((there, _), _)| there == namespace);
        within.map(|(_, config)| config).collect()
    }
}

fn get<'a, T>(objects: &'a BTreeMap<Key, T>, namespace: &str, name: &str) -> Option<&'a T> {
    objects.get(&(namespace.to_owned(), name.to_owned()))
}

fn key(metadata: &ObjectMeta) -> Key {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

/// The key of a kind that has no namespaces.
fn unscoped(metadata: &ObjectMeta) -> Key {
    (String::new(), metadata.name.clone().unwrap_or_default())
}

fn put<T>(objects: &mut BTreeMap<Key, T>, kind: &'static str, key: Key, object: T) -> Result<(), Ambiguous> {
    let name = if key.0.is_empty() { key.1.clone() } else { format!("{}/{}", key.0, key.1) };
    match objects.insert(key, object) {
        Some(_) => Err(Ambiguous { kind, name }),
        None => Ok(()),
    }
}
