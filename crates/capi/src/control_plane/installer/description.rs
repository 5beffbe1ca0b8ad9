//! What a description of a cluster refers to, read from the API server: the same that a hub would read.

use std::collections::BTreeMap;

use assisted_base::error::chain;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_image_set::{ClusterImageSet, ClusterImageSetSpec};
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::error::optional;
use assisted_kubeapi::objects::Objects;
use assisted_reconcile::Failure;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use crate::control_plane::installation::{Site, image_set_name};

/// The objects, by their names in the namespace of the control plane.
pub(super) struct Referred {
    secrets: BTreeMap<String, Secret>,
    config_maps: BTreeMap<String, ConfigMap>,
    image_set: ClusterImageSet,
}

impl Referred {
    /// Those of a description. What is missing is told where it is needed.
    pub(super) async fn read(
        client: &Client,
        site: &Site<'_>,
        install: &AgentClusterInstall,
    ) -> Result<Self, Failure> {
        let namespace = site.namespace();
        let mut config_maps = BTreeMap::new();
        for reference in &install.spec.manifests_config_map_refs {
            if let Some(found) = find(client, &namespace, &reference.name).await? {
                config_maps.insert(reference.name.clone(), found);
            }
        }
        let mut secrets = BTreeMap::new();
        let name = &site.pull_secret.name;
        if let Some(found) = find(client, &namespace, name).await? {
            secrets.insert(name.clone(), found);
        }
        let release_image = site.release.unwrap_or_default().to_owned();
        let image_set =
            ClusterImageSet::new(&image_set_name(site.plane), ClusterImageSetSpec { release_image });
        Ok(Self { secrets, config_maps, image_set })
    }
}

async fn find<K>(client: &Client, namespace: &str, name: &str) -> Result<Option<K>, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    let kind = K::kind(&());
    optional(api.get(name).await)
        .map_err(|error| Failure::passing(format!("{kind} {name}: {}", chain(&error))))
}

impl Objects for Referred {
    fn secret(&self, _: &str, name: &str) -> Option<&Secret> {
        self.secrets.get(name)
    }

    fn config_map(&self, _: &str, name: &str) -> Option<&ConfigMap> {
        self.config_maps.get(name)
    }

    fn image_set(&self, name: &str) -> Option<&ClusterImageSet> {
        (self.image_set.metadata.name.as_deref() == Some(name)).then_some(&self.image_set)
    }

    fn nmstate_configs(&self, _: &str) -> Vec<&NMStateConfig> {
        Vec::new()
    }
}
