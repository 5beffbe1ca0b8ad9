//! How a cluster's administrator comes in: Secrets, and what the AgentClusterInstall says of them (kube-api §6.1.12).

use std::collections::BTreeMap;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstall, ClusterMetadata};
use assisted_crd::labels::label;
use assisted_kube::write::{Guard, object as write};
use assisted_reconcile::Failure;
use assisted_service::object::DescribedCluster;
use futures::TryStreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{LocalObjectReference, Secret};
use kube::ResourceExt;
use kube::api::PostParams;

use super::{add_owner, owner};
use crate::SyncError;
use crate::controllers::hub::{Hub, failed};

const KUBECONFIG: &str = "kubeconfig";
const KUBECONFIG_NOINGRESS: &str = "kubeconfig-noingress";
const PASSWORD: &str = "kubeadmin-password";
const ADMINISTRATOR: &str = "kubeadmin";
/// Bytes of a file of credentials at most.
const LARGEST: usize = 1 << 20;

/// Whether the object says all of a cluster that is installed.
pub(super) fn is_complete(object: &AgentClusterInstall) -> bool {
    object.spec.cluster_metadata.as_ref().is_some_and(|metadata| metadata.admin_password_secret_ref.is_some())
}

/// Makes the Secrets and names them in the object. `is_installed`: the whole, with the password; else the kubeconfig with which the
/// cluster comes up.
///
/// # Errors
/// The API server is away; inside, why the files are not to be had.
pub(super) async fn hand_out(
    hub: &Hub,
    deployment: &ClusterDeployment,
    object: &AgentClusterInstall,
    known: &DescribedCluster,
    is_installed: bool,
) -> Result<Result<(), SyncError>, Failure> {
    let name = deployment.name_any();
    let given = deployment.spec.cluster_metadata.as_ref();
    let given = given.map(|metadata| metadata.admin_kubeconfig_secret_ref.name.clone());
    let kubeconfig_name =
        given.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{name}-admin-kubeconfig"));
    let file = if is_installed { KUBECONFIG } else { KUBECONFIG_NOINGRESS };
    let kubeconfig = match content(hub, known, file).await {
        Ok(content) => content,
        Err(problem) => return Ok(Err(problem)),
    };
    let data = BTreeMap::from([(KUBECONFIG.to_owned(), ByteString(kubeconfig))]);
    keep(hub, deployment, &kubeconfig_name, "kubeconfig", data).await?;

    let mut password_name = None;
    if is_installed {
        let own = format!("{name}-admin-password");
        let key = ObjectKey::new(deployment.namespace().unwrap_or_default(), &own);
        // Never refreshed: the administrator may have changed it.
        if hub.secret(&key).await.map_err(|error| failed(&error))?.is_none() {
            let password = match content(hub, known, PASSWORD).await {
                Ok(content) => content,
                Err(problem) => return Ok(Err(problem)),
            };
            let data = BTreeMap::from([
                ("username".to_owned(), ByteString(ADMINISTRATOR.into())),
                ("password".to_owned(), ByteString(password)),
            ]);
            keep(hub, deployment, &own, "kubeadmincreds", data).await?;
        }
        password_name = Some(own);
    }
    let mut told = object.clone();
    let metadata = told.spec.cluster_metadata.clone().unwrap_or_default();
    let id = known.cluster.openshift_cluster_id.map(|id| id.to_string()).unwrap_or_default();
    told.spec.cluster_metadata = Some(ClusterMetadata {
        admin_kubeconfig_secret_ref: LocalObjectReference { name: kubeconfig_name },
        admin_password_secret_ref: password_name
            .map(|name| LocalObjectReference { name })
            .or(metadata.admin_password_secret_ref.clone()),
        cluster_id: id,
        infra_id: known.cluster.id.to_string(),
        ..metadata
    });
    let api = hub.api(&deployment.namespace().unwrap_or_default());
    // These fields are nobody else's.
    write(&api, object, &told, Guard::Free).await.map_err(|error| failed(&error))?;
    Ok(Ok(()))
}

async fn content(hub: &Hub, known: &DescribedCluster, name: &str) -> Result<Vec<u8>, SyncError> {
    let told = |error: String| SyncError::backend(format!("{name} of the cluster is not to be had: {error}"));
    let file = hub.service.files().download_cluster_files(&hub.caller(), known.cluster.id, name).await;
    let file = file.map_err(|error| told(error.to_string()))?;
    let read = file.content.try_fold(Vec::new(), |mut all, piece| async move {
        if all.len() + piece.len() > LARGEST {
            return Err(std::io::Error::other("it is too large"));
        }
        all.extend_from_slice(&piece);
        Ok(all)
    });
    read.await.map_err(|error| told(error.to_string()))
}

/// Makes a Secret of the ClusterDeployment, or changes what differs.
async fn keep(
    hub: &Hub,
    deployment: &ClusterDeployment,
    name: &str,
    kind: &str,
    data: BTreeMap<String, ByteString>,
) -> Result<(), Failure> {
    let namespace = deployment.namespace().unwrap_or_default();
    let api = hub.api::<Secret>(&namespace);
    let found = hub.secret(&ObjectKey::new(&namespace, name)).await.map_err(|error| failed(&error))?;
    let mut wanted = found.clone().unwrap_or_default();
    wanted.metadata.name = Some(name.to_owned());
    let labels = wanted.metadata.labels.get_or_insert_default();
    for (key, value) in [
        (label::CLUSTER_DEPLOYMENT_NAME, deployment.name_any()),
        (label::SECRET_TYPE, kind.to_owned()),
        (label::WATCH, "true".to_owned()),
        (label::BACKUP, "true".to_owned()),
    ] {
        labels.insert(key.to_owned(), value);
    }
    let mut owner = owner(deployment);
    owner.block_owner_deletion = Some(true);
    add_owner(wanted.metadata.owner_references.get_or_insert_default(), owner);
    wanted.data = Some(data);
    match found {
        None => api.create(&PostParams::default(), &wanted).await.map(drop),
        Some(found) => write(&api, &found, &wanted, Guard::Free).await.map(drop),
    }
    .map_err(|error| failed(&error))
}
