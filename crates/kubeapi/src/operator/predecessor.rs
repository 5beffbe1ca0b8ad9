//! What the operator that this one replaces left behind. Its objects have the names and the owner of ours, and are taken over where they
//! are; here is what needs more than a write.

use assisted_crd::labels::finalizer;
use assisted_kube::error::optional;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::{IMAGE_SERVICE, MANAGED_BY, finalizers};

/// Under which name the API server knows what it wrote: that of its program.
const MANAGER: &str = "assisted-service-operator";

/// The kinds that say how something runs. What they said for the other programs must not stay: the service refuses to start with variables
/// that it can't heed, such as `TLS_CIPHER_SUITES`.
const RUNNING: &[&str] = &["ConfigMap", "Deployment", "StatefulSet"];

/// It kept the StatefulSet by a finalizer until its volumes were gone; they go with it now.
pub(super) async fn drop_finalizer(client: &Client, namespace: &str) -> Result<(), kube::Error> {
    let api: Api<StatefulSet> = Api::namespaced(client.clone(), namespace);
    let Some(set) = optional(api.get(IMAGE_SERVICE).await)? else { return Ok(()) };
    finalizers::remove(&api, &set, &[finalizer::IMAGE_SERVICE]).await
}

/// Its older versions ran the image service by a Deployment, for which a StatefulSet stands now (kube-api §14, 40). One that somebody else
/// owns stays.
pub(super) async fn delete_deployment(
    client: &Client,
    namespace: &str,
    owner: &str,
) -> Result<(), kube::Error> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let Some(found) = optional(api.get(IMAGE_SERVICE).await)? else { return Ok(()) };
    if found.owner_references().iter().all(|reference| reference.uid != owner) {
        return Ok(());
    }
    tracing::info!(name = IMAGE_SERVICE, "a StatefulSet has taken the place of the Deployment");
    let precondition = Preconditions { uid: found.uid(), resource_version: None };
    let params = DeleteParams::background().preconditions(precondition);
    optional(api.delete(IMAGE_SERVICE, &params).await).map(drop)
}

/// Makes the fields that it wrote ours, so that those which are not wanted go with the next write. The answer is whether there were any.
pub(super) async fn take_fields(
    api: &Api<DynamicObject>,
    object: &DynamicObject,
) -> Result<bool, kube::Error> {
    let is_of_kind = object.types.as_ref().is_some_and(|types| RUNNING.contains(&types.kind.as_str()));
    let Some(fields) = object.metadata.managed_fields.as_deref().filter(|_| is_of_kind).and_then(taken)
    else {
        return Ok(false);
    };
    let patch = json!({"metadata": {"managedFields": fields, "resourceVersion": object.resource_version()}});
    api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(true)
}

/// Who wrote which fields, once those of the other operator count as ours; `None` where it wrote none. What we wrote ourselves is left out,
/// since the next write says it again.
fn taken(fields: &[ManagedFieldsEntry]) -> Option<Vec<ManagedFieldsEntry>> {
    let is = |entry: &ManagedFieldsEntry, manager: &str, operation: &str| {
        entry.manager.as_deref() == Some(manager)
            && entry.operation.as_deref() == Some(operation)
            && entry.subresource.as_deref().unwrap_or_default().is_empty()
    };
    if !fields.iter().any(|entry| is(entry, MANAGER, "Update")) {
        return None;
    }
    let others = fields.iter().filter(|entry| !is(entry, MANAGED_BY.1, "Apply"));
    let taken = others.cloned().map(|mut entry| {
        if is(&entry, MANAGER, "Update") {
            entry.manager = Some(MANAGED_BY.1.to_owned());
            entry.operation = Some("Apply".to_owned());
        }
        entry
    });
    Some(taken.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_fields_become_ours_and_no_others() {
        let entry = |manager: &str, operation: &str, subresource: Option<&str>| ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            operation: Some(operation.to_owned()),
            subresource: subresource.map(str::to_owned),
            ..ManagedFieldsEntry::default()
        };
        let own = entry(MANAGED_BY.1, "Apply", None);
        let status = entry("kube-controller-manager", "Update", Some("status"));
        let somebody = entry("kubectl-edit", "Update", None);
        assert_eq!(taken(&[own.clone(), status.clone(), somebody.clone()]), None);
        let its = entry(MANAGER, "Update", None);
        let its_status = entry(MANAGER, "Update", Some("status"));
        let all = [own.clone(), its, its_status.clone(), status.clone(), somebody.clone()];
        assert_eq!(taken(&all), Some(vec![own, its_status, status, somebody]));
    }
}
