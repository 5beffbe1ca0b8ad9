//! The end of a control plane: workers first, then its machines, then the cluster at the installer; only then the object itself.

use assisted_crd::cluster_api::conditions::control_plane as says;
use assisted_crd::cluster_api::labels::{finalizer as names, label};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_kube::cache::key;
use assisted_kube::error::optional;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::Failure;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};

use super::management_cluster::is_owned;
use super::provider::Provider;
use super::report::{Counts, Report};
use crate::objects::failed;

/// Has everything go; whether the object may go, too.
pub(super) async fn advance(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    report: &mut Report,
) -> Result<bool, Failure> {
    if let Some(cluster) = cluster_name(plane) {
        let (own, workers) = machines(provider, plane, &cluster).await?;
        report.counts = Some(Counts { all: own.len(), ..Counts::default() });
        if workers > 0 {
            let text =
                format!("{workers} machines of the cluster that are none of the control plane go first");
            report.say(says::DELETING.with(&[&text]));
            return Ok(false);
        }
        for machine in own.iter().filter(|machine| !finalizer::is_deleting(&machine.metadata)) {
            let api: Api<Machine> = provider.management.api(&plane.namespace().unwrap_or_default());
            let removed = optional(api.delete(&machine.name_any(), &DeleteParams::default()).await);
            removed.map_err(|error| failed(&error))?;
        }
        if !own.is_empty() {
            report.say(says::DELETING.with(&[&format!("{} machines are leaving", own.len())]));
            return Ok(false);
        }
    }
    if !provider.installer.remove(plane).await? {
        report.say(says::DELETING.with(&["the installer forgets the cluster"]));
        return Ok(false);
    }
    provider.workloads.forget(&key(plane));
    Ok(true)
}

/// Lets the object go.
pub(super) async fn release(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
) -> Result<(), Failure> {
    let mut released = plane.clone();
    finalizer::remove(&mut released.metadata, names::CONTROL_PLANE);
    let api = provider.management.api(&plane.namespace().unwrap_or_default());
    let written = optional(write::object(&api, plane, &released, Guard::Version).await);
    written.map(drop).map_err(|error| failed(&error))
}

/// The name of the cluster, which may be gone by now.
fn cluster_name(plane: &OpenshiftAssistedControlPlane) -> Option<String> {
    use assisted_crd::cluster_api::labels::GROUP;
    let owners = plane.owner_references();
    let owner = owners.iter().find(|owner| crate::objects::is_of(owner, GROUP, "Cluster"));
    owner.map(|owner| owner.name.clone()).or_else(|| plane.labels().get(label::CLUSTER_NAME).cloned())
}

/// The machines of the control plane, and how many others the cluster has.
async fn machines(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    cluster: &str,
) -> Result<(Vec<Machine>, usize), Failure> {
    let api: Api<Machine> = provider.management.api(&plane.namespace().unwrap_or_default());
    let of_cluster = ListParams::default().labels(&format!("{}={cluster}", label::CLUSTER_NAME));
    let all = api.list(&of_cluster).await.map_err(|error| failed(&error))?.items;
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|machine| is_owned(machine, plane));
    let workers = others.iter().filter(|machine| !machine.labels().contains_key(label::CONTROL_PLANE));
    Ok((own, workers.count()))
}
