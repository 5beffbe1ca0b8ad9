//! The objects of a hub: ClusterDeployment, AgentClusterInstall, ClusterImageSet (capi-providers §10.6, §11, §12).

use std::fmt::Debug;
use std::sync::Arc;

use assisted_base::error::chain;
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::labels::label;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::condition::find;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstall, AgentClusterInstallStatus};
use assisted_kube::cache::{get, key};
use assisted_kube::error::optional;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::Failure;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::state::Installation;
use crate::control_plane::installation::{
    self, Site, described, image_set_name, label_value, registry_manifests,
};
use crate::control_plane::management_cluster::{ManagementCluster, is_owned};
use crate::objects::failed;

/// Member of the Secret with a kubeconfig.
const KUBECONFIG: &str = "kubeconfig";

/// The hub of an API server.
pub(in crate::control_plane) struct Hub {
    client: Client,
    installs: Store<AgentClusterInstall>,
    writer: Mutex<Option<Writer<AgentClusterInstall>>>,
}

fn installation(object: &AgentClusterInstall) -> Installation {
    let debug = object.status.as_ref().and_then(|status| status.debug_info.as_ref());
    let metadata = object.spec.cluster_metadata.as_ref();
    let kubeconfig = metadata.map(|metadata| metadata.admin_kubeconfig_secret_ref.name.clone());
    Installation {
        state: debug.map(|debug| debug.state.clone()).unwrap_or_default(),
        kubeconfig: kubeconfig.filter(|name| !name.is_empty()),
        problem: object.status.as_ref().and_then(refusal),
    }
}

/// What the hub does not take of an object: somebody has to change the control plane.
fn refusal(status: &AgentClusterInstallStatus) -> Option<String> {
    let synced = find(&status.conditions, "SpecSynced")?;
    (synced.status == "False" && synced.reason == "InputError").then(|| synced.message.clone())
}

fn foreign(kind: &str, key: &ObjectKey) -> Failure {
    let an = if kind.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
    Failure::of_row(format!("there is {an} {kind} {key} already, which belongs to somebody else"))
}

impl Hub {
    pub(super) fn new(client: Client) -> Self {
        let writer = Writer::new(());
        Self { client, installs: writer.as_reader(), writer: Mutex::new(Some(writer)) }
    }

    /// What keeps the copy of the AgentClusterInstalls, once.
    pub(super) fn writer(&self) -> Option<Writer<AgentClusterInstall>> {
        self.writer.lock().take()
    }

    pub(super) fn installs(&self) -> &Store<AgentClusterInstall> {
        &self.installs
    }

    fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(super) fn find(&self, plane: &OpenshiftAssistedControlPlane) -> Option<Installation> {
        get(&self.installs, &key(plane)).map(|found| installation(&found))
    }

    pub(super) async fn settle(
        &self,
        management: &ManagementCluster,
        site: &Site<'_>,
    ) -> Result<Option<Installation>, Failure> {
        self.deployment(site).await?;
        if let Some(release) = site.release {
            self.image_set(site, release).await?;
        }
        let mut manifests = Vec::new();
        if let Some(registries) = site.registries {
            manifests.push(registry_manifests(management, site, registries).await?);
        }
        let own = key(site.plane);
        let before = get(&self.installs, &own);
        if before.is_none() && site.release.is_none() {
            return Ok(None);
        }
        if let Some(before) = &before
            && !is_owned(&**before, site.plane)
        {
            return Err(foreign("AgentClusterInstall", &own));
        }
        let others = installation::others_of(management, site.cluster);
        let after = described(before.as_deref(), site, others, manifests).map_err(Failure::of_row)?;
        let api: Api<AgentClusterInstall> = self.api(&own.namespace);
        let written = match &before {
            Some(before) => write::object(&api, &**before, &after, Guard::Version).await,
            None => api.create(&PostParams::default(), &after).await.map(Some),
        };
        let written = written.map_err(|error| failed(&error))?.map(Arc::new);
        Ok(written.or(before).map(|object| installation(&object)))
    }

    async fn deployment(&self, site: &Site<'_>) -> Result<(), Failure> {
        let api: Api<ClusterDeployment> = self.api(&site.namespace());
        let before = optional(api.get(&site.plane.name_any()).await).map_err(|error| failed(&error))?;
        let after = installation::deployment(site, before.as_ref());
        let Some(before) = before else {
            api.create(&PostParams::default(), &after).await.map_err(|error| failed(&error))?;
            return Ok(());
        };
        if !is_owned(&before, site.plane) {
            return Err(foreign("ClusterDeployment", &key(&before)));
        }
        write::object(&api, &before, &after, Guard::Version).await.map_err(|error| failed(&error))?;
        Ok(())
    }

    async fn image_set(&self, site: &Site<'_>, release: &str) -> Result<(), Failure> {
        let api: Api<ClusterImageSet> = Api::all(self.client.clone());
        let name = image_set_name(site.plane);
        let before = optional(api.get(&name).await).map_err(|error| failed(&error))?;
        let mut after = before.clone().unwrap_or_else(|| ClusterImageSet::new(&name, Default::default()));
        release.clone_into(&mut after.spec.release_image);
        let labels = after.metadata.labels.get_or_insert_default();
        labels.insert(label::CONTROL_PLANE_NAMESPACE.to_owned(), site.namespace());
        labels.insert(label::CONTROL_PLANE_NAME.to_owned(), label_value(&site.plane.name_any()));
        let written = match &before {
            Some(before) => write::object(&api, before, &after, Guard::Version).await.map(drop),
            None => api.create(&PostParams::default(), &after).await.map(drop),
        };
        written.map_err(|error| failed(&error))
    }

    pub(super) async fn kubeconfig(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        name: &str,
    ) -> Result<String, Failure> {
        let secrets: Api<Secret> = self.api(&plane.namespace().unwrap_or_default());
        let source = secrets.get(name).await;
        let source = source
            .map_err(|error| Failure::passing(format!("error retrieving Kubeconfig {}", chain(&error))))?;
        let value = source.data.as_ref().and_then(|data| data.get(KUBECONFIG)).ok_or_else(|| {
            Failure::passing(format!("kubeconfig with key `{KUBECONFIG}` not found in secret {name}"))
        })?;
        String::from_utf8(value.0.clone())
            .map_err(|_| Failure::passing(format!("the kubeconfig in secret {name} is no text")))
    }

    pub(super) async fn remove(&self, plane: &OpenshiftAssistedControlPlane) -> Result<bool, Failure> {
        let is_gone = [
            self.remove_object::<ClusterDeployment>(plane).await?,
            self.remove_object::<AgentClusterInstall>(plane).await?,
        ];
        if is_gone.contains(&false) {
            return Ok(false);
        }
        let image_sets: Api<ClusterImageSet> = Api::all(self.client.clone());
        let removed = optional(image_sets.delete(&image_set_name(plane), &DeleteParams::default()).await);
        removed.map_err(|error| failed(&error))?;
        Ok(true)
    }

    /// Has the object go that is named as the control plane and belongs to it; whether it is gone.
    async fn remove_object<K>(&self, plane: &OpenshiftAssistedControlPlane) -> Result<bool, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
    {
        let api: Api<K> = self.api(&plane.namespace().unwrap_or_default());
        let name = plane.name_any();
        let found = optional(api.get(&name).await).map_err(|error| failed(&error))?;
        let Some(found) = found.filter(|found| is_owned(found, plane)) else { return Ok(true) };
        if !finalizer::is_deleting(found.meta()) {
            let removed = optional(api.delete(&name, &DeleteParams::default()).await);
            removed.map_err(|error| failed(&error))?;
        }
        Ok(false)
    }
}
