//! What objects refer to, looked up for one pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::error::optional;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::reflector::ObjectRef;

use super::cache::get;
use super::hub::{Hub, Shared};
use crate::objects::Objects;

/// The objects that were found; those that are missing are not among them. Secrets and ConfigMaps carry the label by which their
/// changes are heard of from now on.
#[derive(Default)]
pub(super) struct Referred {
    secrets: BTreeMap<ObjectKey, Secret>,
    config_maps: BTreeMap<ObjectKey, ConfigMap>,
    image_sets: BTreeMap<String, Arc<ClusterImageSet>>,
    nmstate_configs: Vec<Arc<NMStateConfig>>,
}

impl Referred {
    /// What a cluster's two objects refer to.
    pub(super) async fn by_cluster(
        hub: &Hub,
        deployment: &ClusterDeployment,
        install: &AgentClusterInstall,
    ) -> Result<Self, kube::Error> {
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        let mut found = Self::default();
        if let Some(reference) = &deployment.spec.pull_secret_ref {
            found.take_secret(hub, ObjectKey::new(namespace, &reference.name)).await?;
        }
        let endpoint = install.spec.ignition_endpoint.as_ref();
        if let Some(reference) = endpoint.and_then(|endpoint| endpoint.ca_certificate_reference.as_ref()) {
            found.take_secret(hub, ObjectKey::new(&reference.namespace, &reference.name)).await?;
        }
        for name in manifests_of(install) {
            found.take_config_map(hub, ObjectKey::new(namespace, name)).await?;
        }
        if let Some(reference) = &install.spec.mirror_registry_ref {
            found.take_config_map(hub, ObjectKey::new(&reference.namespace, &reference.name)).await?;
        }
        if let Some(reference) = &install.spec.image_set_ref
            && let Some(image_set) = hub.cache.image_sets.get(&ObjectRef::new(&reference.name))
        {
            found.image_sets.insert(reference.name.clone(), image_set);
        }
        Ok(found)
    }

    /// What an InfraEnv refers to.
    pub(super) async fn by_infra_env(hub: &Hub, object: &InfraEnv) -> Result<Self, kube::Error> {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let mut found = Self::default();
        found.take_secret(hub, ObjectKey::new(namespace, &object.spec.pull_secret_ref.name)).await?;
        if let Some(reference) = &object.spec.mirror_registry_ref {
            found.take_config_map(hub, ObjectKey::new(&reference.namespace, &reference.name)).await?;
        }
        let within = |config: &NMStateConfig| config.metadata.namespace.as_deref() == Some(namespace);
        found.nmstate_configs = hub.cache.nmstate_configs.state_filter(within);
        found.nmstate_configs.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        Ok(found)
    }

    async fn take_secret(&mut self, hub: &Shared, key: ObjectKey) -> Result<(), kube::Error> {
        if let Some(secret) = hub.secret(&key).await? {
            self.secrets.insert(key, secret);
        }
        Ok(())
    }

    async fn take_config_map(&mut self, hub: &Shared, key: ObjectKey) -> Result<(), kube::Error> {
        let cached = get(&hub.cache.config_maps, &key).map(|found| (*found).clone());
        let found = match cached {
            Some(found) => Some(found),
            None => optional(hub.api::<ConfigMap>(&key.namespace).get(&key.name).await)?,
        };
        if let Some(found) = found {
            self.config_maps.insert(key, hub.label(found).await?);
        }
        Ok(())
    }
}

/// Names of the ConfigMaps with manifests; the newer list counts, where it is not empty.
pub(super) fn manifests_of(install: &AgentClusterInstall) -> Vec<&str> {
    let mut names: Vec<&str> =
        install.spec.manifests_config_map_refs.iter().map(|reference| reference.name.as_str()).collect();
    if names.is_empty() {
        names.extend(install.spec.manifests_config_map_ref.iter().map(|reference| reference.name.as_str()));
    }
    names
}

impl Shared {
    /// A Secret, whether or not it is labelled; it is afterwards.
    pub(super) async fn secret(&self, key: &ObjectKey) -> Result<Option<Secret>, kube::Error> {
        if key.name.is_empty() {
            return Ok(None);
        }
        let cached = get(&self.cache.secrets, key).map(|found| (*found).clone());
        let found = match cached {
            Some(found) => Some(found),
            None => optional(self.api::<Secret>(&key.namespace).get(&key.name).await)?,
        };
        match found {
            Some(found) => self.label(found).await.map(Some),
            None => Ok(None),
        }
    }
}

impl Objects for Referred {
    fn secret(&self, namespace: &str, name: &str) -> Option<&Secret> {
        self.secrets.get(&ObjectKey::new(namespace, name))
    }

    fn config_map(&self, namespace: &str, name: &str) -> Option<&ConfigMap> {
        self.config_maps.get(&ObjectKey::new(namespace, name))
    }

    fn image_set(&self, name: &str) -> Option<&ClusterImageSet> {
        self.image_sets.get(name).map(|found| &**found)
    }

    fn nmstate_configs(&self, _: &str) -> Vec<&NMStateConfig> {
        self.nmstate_configs.iter().map(|found| &**found).collect()
    }
}
