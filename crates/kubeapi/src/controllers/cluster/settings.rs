//! What has requests of its own: annotations and custom manifests (kube-api §6.1.9, §6.1.10).

use std::time::Duration;

use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::annotation;
use assisted_service::file::manifest::ManifestFile;
use assisted_service::object::DescribedCluster;
use assisted_wire::cluster::{ClusterKind, ClusterStatus};
use assisted_wire::cluster_params::{ClusterUpdateParams, IgnoredValidations};
use assisted_wire::manifest::{CreateManifestParams, Manifest, ManifestFolder};
use futures::TryStreamExt;

use crate::SyncError;
use crate::cluster::{ClusterSpec, custom_manifests, overrides};
use crate::controllers::hub::Hub;
use crate::controllers::referred::Referred;
use crate::objects::base64;
use crate::sync_error::Class;

/// When manifests that can't be used are looked at again.
pub(super) const MANIFESTS_AGAIN: Duration = Duration::from_secs(60);

/// Where manifests of ConfigMaps go.
const FOLDER: ManifestFolder = ManifestFolder::Openshift;

/// Brings what annotations set to the cluster.
pub(super) async fn annotations(
    hub: &Hub,
    object: &AgentClusterInstall,
    known: &DescribedCluster,
) -> Result<(), SyncError> {
    let (rooms, caller, cluster) = (hub.service.clusters(), hub.caller(), &known.cluster);
    let wanted = overrides(object)?;
    if cluster.kind == ClusterKind::Cluster && wanted.install_config != cluster.install_config_overrides {
        let set = rooms.update_install_config(&caller, cluster.id, &wanted.install_config).await;
        set.map_err(|error| match SyncError::from(&error) {
            SyncError { class: Class::Input, text } => SyncError::input(format!(
                "Failed to parse '{}' annotation: {text}",
                annotation::INSTALL_CONFIG_OVERRIDES
            )),
            SyncError { text, .. } => SyncError::backend(format!(
                "failed to update install-config overrides for cluster {}: {text}",
                cluster.id
            )),
        })?;
    }
    let ignored = IgnoredValidations {
        cluster_validation_ids: wanted.ignored_cluster_validations,
        host_validation_ids: wanted.ignored_host_validations,
    };
    if ignored.cluster_validation_ids != cluster.ignored_cluster_validations
        || ignored.host_validation_ids != cluster.ignored_host_validations
    {
        let set = rooms.set_ignored_validations(&caller, cluster.id, ignored).await;
        set.map_err(|error| match SyncError::from(&error) {
            SyncError { class: Class::Input, text } => SyncError::input(text),
            SyncError { text, .. } => SyncError::backend(format!(
                "failed to update ignored validations for cluster {}: {text}",
                cluster.id
            )),
        })?;
    }
    Ok(())
}

/// Brings what is asked of image mode to the cluster: after the annotations, since it may not contradict the overrides.
pub(super) async fn image_mode(
    hub: &Hub,
    spec: &ClusterSpec<'_>,
    known: &DescribedCluster,
) -> Result<(), SyncError> {
    if known.cluster.kind != ClusterKind::Cluster {
        return Ok(());
    }
    let Some(wanted) = spec.image_mode_change(known.image_mode.as_deref()) else { return Ok(()) };
    let params =
        ClusterUpdateParams { on_cluster_layering: Some(Box::new(wanted)), ..ClusterUpdateParams::default() };
    let set = Box::pin(hub.service.clusters().update(&hub.caller(), known.cluster.id, params)).await;
    set.map(drop).map_err(|error| SyncError::from(&error))
}

/// Brings the values of ConfigMaps to the cluster, as manifests. If that fails, those that were there are taken away: a cluster is
/// not installed with half of them.
pub(super) async fn manifests(
    hub: &Hub,
    object: &AgentClusterInstall,
    referred: &Referred,
    known: &DescribedCluster,
) -> Result<(), SyncError> {
    use ClusterStatus::{Insufficient, PendingForInput, Ready};
    if !matches!(known.cluster.status, Insufficient | PendingForInput | Ready) {
        return Ok(());
    }
    let (files, caller, id) = (hub.service.files(), hub.caller(), known.cluster.id);
    let problem = |error: assisted_service::Error| SyncError::from(&error);
    let there: Vec<Manifest> = files.list_cluster_manifests(&caller, id, false).await.map_err(problem)?.0;
    let file =
        |file_name: &str| ManifestFile { cluster_id: id, folder: FOLDER, file_name: file_name.to_owned() };
    let brought = async {
        let wanted = custom_manifests(object, referred)?;
        for manifest in &there {
            let own = manifest.folder == Some(FOLDER);
            if own && !wanted.iter().any(|wanted| wanted.file_name == manifest.file_name) {
                // One that can't be deleted is told by the next pass.
                let _ = files.delete_cluster_manifest(&caller, file(&manifest.file_name)).await;
            }
        }
        for manifest in wanted {
            let own =
                |there: &Manifest| there.folder == Some(FOLDER) && there.file_name == manifest.file_name;
            if there.iter().any(own)
                && content(hub, file(&manifest.file_name)).await.as_deref()
                    == Some(manifest.content.as_bytes())
            {
                continue;
            }
            let params = CreateManifestParams {
                folder: Some(FOLDER),
                file_name: manifest.file_name,
                content: base64(manifest.content.as_bytes()),
            };
            files.create_cluster_manifest(&caller, id, params).await.map_err(problem)?;
        }
        Ok(())
    };
    let brought: Result<(), SyncError> = brought.await;
    if brought.is_err() {
        for manifest in there.iter().filter(|manifest| manifest.folder == Some(FOLDER)) {
            let _ = files.delete_cluster_manifest(&caller, file(&manifest.file_name)).await;
        }
    }
    brought
}

/// What a manifest holds; `None` when it can't be read, and is to be written anew.
async fn content(hub: &Hub, file: ManifestFile) -> Option<Vec<u8>> {
    let file = hub.service.files().download_cluster_manifest(&hub.caller(), file).await.ok()?;
    let pieces: Vec<_> = file.content.try_collect().await.ok()?;
    Some(pieces.concat())
}
