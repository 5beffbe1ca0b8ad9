//! One pass over a cluster: it is registered, changed where it differs, and taken a step further (kube-api §6.1.2).

use std::time::Duration;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_reconcile::Failure;
use assisted_service::object::{Described, DescribedCluster};
use assisted_wire::cluster::ClusterKind;

use super::{described, install, settings};
use crate::SyncError;
use crate::cluster::ClusterSpec;
use crate::controllers::hub::{Hub, failed};
use crate::controllers::referred::Referred;
use crate::mirrors;

/// How a pass ended.
#[derive(Debug, Default)]
pub(super) struct Converged {
    /// What stands in the way of what the objects say.
    pub(super) problem: Option<SyncError>,
    /// When to look again, if that does not follow from the problem.
    pub(super) again: Option<Duration>,
}

/// Does what is to be done.
///
/// # Errors
/// The database or the API server is away.
pub(super) async fn converge(
    hub: &Hub,
    key: &ObjectKey,
    deployment: &ClusterDeployment,
    object: &AgentClusterInstall,
) -> Result<Converged, Failure> {
    let referred = Referred::by_cluster(hub, deployment, object).await.map_err(|error| failed(&error))?;
    let known = described(hub, key).await?;
    let synced = Box::pin(sync(hub, key, deployment, object, &referred, known)).await;
    let (known, mut converged) = match synced {
        Ok((known, converged)) => (known, converged),
        Err((known, problem)) => (known, Converged { problem: Some(problem), again: None }),
    };
    // What was begun goes on, whatever has been written into the objects since.
    if let Some(known) = known
        && let Err(problem) =
            install::advance(hub, key, deployment, object, &known, converged.problem.is_none()).await?
    {
        converged.problem.get_or_insert(problem);
    }
    Ok(converged)
}

type Known = Option<Box<DescribedCluster>>;

/// Registers the cluster, or changes of it what differs.
async fn sync(
    hub: &Hub,
    key: &ObjectKey,
    deployment: &ClusterDeployment,
    object: &AgentClusterInstall,
    referred: &Referred,
    known: Option<DescribedCluster>,
) -> Result<(Known, Converged), (Known, SyncError)> {
    let read = || -> Result<_, SyncError> {
        let spec = ClusterSpec::resolve(deployment, object, referred)?;
        let mirror_registry = mirrors(object.spec.mirror_registry_ref.as_ref(), referred)?;
        Ok((spec, mirror_registry))
    };
    let (spec, mirror_registry) = match read() {
        Ok(read) => read,
        Err(problem) => return Err((known.map(Box::new), problem)),
    };
    let Some(known) = known else {
        let described = Described { key: key.clone(), mirror_registry };
        Box::pin(create(hub, object, &spec, &described)).await.map_err(|problem| (None, problem))?;
        let found = hub.service.clusters().of_object(key).await;
        let found = found.map_err(|error| (None, SyncError::from(&error)))?;
        return Ok((found.map(Box::new), Converged::default()));
    };
    let (rooms, caller, id) = (hub.service.clusters(), hub.caller(), known.cluster.id);
    let changed = async {
        if known.mirror_registry != mirror_registry {
            rooms
                .set_mirror_registry(&caller, id, mirror_registry.as_ref())
                .await
                .map_err(|error| SyncError::from(&error))?;
        }
        let update = spec.update(&known.cluster, Some(&known.pull_secret))?;
        if !update.changed.is_empty() {
            rooms.update(&caller, id, update.params).await.map_err(|error| SyncError::from(&error))?;
        }
        settings::annotations(hub, object, &known).await?;
        settings::image_mode(hub, &spec, &known).await
    };
    if let Err(problem) = Box::pin(changed).await {
        return Err((Some(Box::new(known)), problem));
    }
    let mut converged = Converged::default();
    if known.cluster.kind == ClusterKind::Cluster
        && let Err(problem) = settings::manifests(hub, object, referred, &known).await
    {
        converged = Converged { problem: Some(problem), again: Some(settings::MANIFESTS_AGAIN) };
    }
    // What was decided on may have changed by that.
    match hub.service.clusters().of_object(key).await {
        Ok(found) => Ok((found.map(Box::new), converged)),
        Err(error) => Err((Some(Box::new(known)), SyncError::from(&error))),
    }
}

async fn create(
    hub: &Hub,
    object: &AgentClusterInstall,
    spec: &ClusterSpec<'_>,
    described: &Described,
) -> Result<(), SyncError> {
    let (rooms, caller) = (hub.service.clusters(), hub.caller());
    let release = match spec.release_image() {
        None => None,
        Some(url) => {
            let read = hub.service.catalogue().release_image(url, spec.pull_secret()).await;
            Some(read.map_err(|error| unread(object, url, &error.to_string()))?)
        }
    };
    let registered = if spec.installed() {
        let params = spec.import(release.as_ref().map(|release| release.version.as_str()))?;
        Box::pin(rooms.import_described(&caller, &params, described)).await
    } else {
        // Version and architecture are those of the image, which the service knows by now.
        let params = spec.create("", None)?;
        Box::pin(rooms.register_described(&caller, &params, described)).await
    };
    registered.map(drop).map_err(|error| SyncError::from(&error))
}

/// A release image that can't be used; with a hint where mirrors are used and the image has a tag.
fn unread(object: &AgentClusterInstall, url: &str, error: &str) -> SyncError {
    let set = object.spec.image_set_ref.as_ref().map(|reference| reference.name.as_str()).unwrap_or_default();
    let last = url.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map(|(_, tag)| tag).filter(|_| !last.contains('@'));
    let hint = match (tag, &object.spec.mirror_registry_ref) {
        (Some(tag), Some(_)) => format!(
            "Release image \"{url}\" uses a tag (\"{tag}\"), this is usually unsupported in combination with mirror \
             registries, try providing a digest-based image instead"
        ),
        _ => String::new(),
    };
    SyncError::backend(format!(
        "failed to get release image '{url}'. Please ensure the releaseImage field in ClusterImageSet '{set}' is valid, \
         {hint} (error: {error})."
    ))
}

#[cfg(test)]
mod tests {
    use assisted_crd::common::NamespacedReference;
    use assisted_crd::hive_extensions::agent_cluster_install::ClusterImageSetReference;

    use super::*;

    #[test]
    fn a_hint_is_given_where_mirrors_are_used_and_the_image_has_a_tag() {
        let mut object = AgentClusterInstall::default();
        object.spec.image_set_ref = Some(ClusterImageSetReference { name: "release".to_owned() });
        let text = |object: &AgentClusterInstall, url: &str| unread(object, url, "away").text;
        assert_eq!(
            text(&object, "host:5000/a:4.22"),
            "failed to get release image 'host:5000/a:4.22'. Please ensure the releaseImage field in ClusterImageSet \
             'release' is valid,  (error: away)."
        );
        object.spec.mirror_registry_ref = Some(NamespacedReference::default());
        assert!(text(&object, "host:5000/a:4.22").contains("uses a tag (\"4.22\")"));
        assert!(!text(&object, "host:5000/a").contains("uses a tag"));
        assert!(!text(&object, "quay.io/a@sha256:12").contains("uses a tag"));
    }
}
