//! A cluster, as its ClusterDeployment and its AgentClusterInstall describe it.

mod create;
mod image_mode;
mod manifests;
mod networking;
mod overrides;
mod pools;
mod update;

use std::sync::LazyLock;

use assisted_base::boolean;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::{annotation, label};
use assisted_wire::cluster::IgnitionEndpoint;
use assisted_wire::secret::Secret;

pub use image_mode::image_mode;
pub use manifests::{CustomManifest, custom_manifests};
pub use overrides::{Overrides, overrides};
pub use update::Update;
pub(crate) use update::given_fields;

use crate::objects::{self, Objects};
use crate::sync_error::SyncError;

/// Group and kind of what a ClusterDeployment must refer to.
const INSTALL: (&str, &str) = ("extensions.hive.openshift.io", "AgentClusterInstall");

/// A cluster's two objects, with what they refer to.
#[derive(Clone, Debug)]
pub struct ClusterSpec<'a> {
    deployment: &'a ClusterDeployment,
    install: &'a AgentClusterInstall,
    /// Registry credentials; a cluster that is installed needs none.
    pull_secret: Option<Secret>,
    /// Reference of the release image; a cluster that is installed needs none.
    release_image: Option<String>,
    ignition_endpoint: Option<IgnitionEndpoint>,
}

/// The name of the AgentClusterInstall that a ClusterDeployment refers to; none when somebody else installs it.
pub fn install_of(deployment: &ClusterDeployment) -> Option<&str> {
    let reference = deployment.spec.cluster_install_ref.as_ref()?;
    ((reference.group.as_str(), reference.kind.as_str()) == INSTALL).then_some(reference.name.as_str())
}

/// Whether the installation waits for somebody's word.
pub fn held(deployment: &ClusterDeployment, install: &AgentClusterInstall) -> bool {
    let paused = deployment.metadata.annotations.as_ref();
    let paused = paused.and_then(|annotations| annotations.get(annotation::RECONCILE_PAUSE));
    install.spec.hold_installation == Some(true)
        || paused.is_some_and(|value| boolean::parse(value) == Some(true))
}

impl<'a> ClusterSpec<'a> {
    /// Looks up what the two objects refer to.
    ///
    /// # Errors
    /// The first reference that leads nowhere, with the texts of kube-api §6.1.2.
    pub fn resolve(
        deployment: &'a ClusterDeployment,
        install: &'a AgentClusterInstall,
        objects: &dyn Objects,
    ) -> Result<Self, SyncError> {
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        let name = deployment.metadata.name.as_deref().unwrap_or_default();
        let installed = deployment.spec.installed == Some(true);

        let reference = deployment.spec.pull_secret_ref.as_ref().map(|reference| reference.name.as_str());
        let pull_secret = match reference.filter(|name| !name.is_empty()) {
            None if installed => None,
            None => {
                return Err(SyncError::input(format!(
                    "PullSecret is required for ClusterDeployment {name}/{namespace}"
                )));
            }
            Some(secret) => {
                let found = objects::pull_secret(objects, namespace, secret);
                Some(found.map_err(|SyncError { class, text }| SyncError {
                    class,
                    text: format!(
                        "failed to validate pull secret for ClusterDeployment {name}/{namespace}: {text}"
                    ),
                })?)
            }
        };

        let release_image = match &install.spec.image_set_ref {
            None if installed => None,
            None => {
                return Err(SyncError::input(
                    "ClusterImageSet must be specified in AgentClusterInstall.Spec.ImageSetRef for cluster that is \
                     not installed",
                ));
            }
            Some(reference) => {
                let found = objects.image_set(&reference.name);
                let image_set = found.ok_or_else(|| {
                    SyncError::backend(format!(
                        "ClusterImageSet {} not found. Please ensure the ClusterImageSet exists",
                        reference.name
                    ))
                })?;
                Some(image_set.spec.release_image.clone())
            }
        };

        let ignition_endpoint = ignition_endpoint(install, objects)?;
        Ok(Self { deployment, install, pull_secret, release_image, ignition_endpoint })
    }

    /// Name and DNS domain.
    pub fn name(&self) -> (&str, &str) {
        (&self.deployment.spec.cluster_name, &self.deployment.spec.base_domain)
    }

    /// Reference of the release image.
    pub fn release_image(&self) -> Option<&str> {
        self.release_image.as_deref()
    }

    /// Registry credentials; empty where none are needed.
    pub fn pull_secret(&self) -> &Secret {
        static NONE: LazyLock<Secret> = LazyLock::new(Secret::default);
        self.pull_secret.as_ref().unwrap_or(&NONE)
    }

    /// Whether the installation waits for somebody's word.
    pub fn held(&self) -> bool {
        held(self.deployment, self.install)
    }

    /// How many hosts the installation waits for: those of the control plane, arbiters and workers.
    pub fn hosts(&self) -> i64 {
        let needs = &self.install.spec.provision_requirements;
        needs.control_plane_agents + needs.arbiter_agents.unwrap_or(0) + needs.worker_agents.unwrap_or(0)
    }

    /// One host is the whole cluster.
    fn single_node(&self) -> bool {
        let needs = &self.install.spec.provision_requirements;
        needs.control_plane_agents == 1
            && needs.worker_agents.unwrap_or(0) == 0
            && needs.arbiter_agents.unwrap_or(0) == 0
    }

    /// Whose the cluster is, as a tag; empty when nobody says so.
    fn consumer(&self) -> Option<&str> {
        let labels = self.install.metadata.labels.as_ref()?;
        labels.get(label::CONSUMER).map(String::as_str)
    }
}

fn ignition_endpoint(
    install: &AgentClusterInstall,
    objects: &dyn Objects,
) -> Result<Option<IgnitionEndpoint>, SyncError> {
    let Some(endpoint) = &install.spec.ignition_endpoint else { return Ok(None) };
    let ca_certificate = match &endpoint.ca_certificate_reference {
        None => None,
        Some(reference) => {
            let (namespace, name) = (&reference.namespace, &reference.name);
            let secret = objects.secret(namespace, name).ok_or_else(|| {
                SyncError::backend(format!(
                    "error getting ca certificate secret: there is no {namespace}/{name}"
                ))
            })?;
            let certificate = objects::secret_value(secret, "tls.crt")
                .ok_or_else(|| SyncError::backend("CA Secret is missing tls.crt key"))?;
            Some(objects::base64(certificate.as_bytes()))
        }
    };
    Ok(Some(IgnitionEndpoint { url: Some(endpoint.url.clone()), ca_certificate }))
}
