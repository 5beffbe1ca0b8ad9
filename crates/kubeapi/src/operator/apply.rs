//! How objects come to be as they are to be: server-side apply of what is wanted, deletion of what no longer is.

use std::collections::BTreeSet;

use assisted_kube::error::{is_conflict, is_missing, optional};
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::{Api, Client, Error, ResourceExt};
use serde_json::Value;

use super::desired::Component;
use super::{MANAGED_BY, predecessor};

/// A kind of objects that the operator makes.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub is_namespaced: bool,
    /// Whether one that is no longer wanted is deleted. What holds data or keys never is.
    pub is_pruned: bool,
}

const fn kind(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural, is_namespaced: true, is_pruned: true }
}

const fn kept(of: Kind) -> Kind {
    Kind { is_pruned: false, ..of }
}

const fn of_cluster(of: Kind) -> Kind {
    Kind { is_namespaced: false, ..of }
}

/// All kinds that the operator makes.
pub const KINDS: &[Kind] = &[
    kind("", "v1", "ConfigMap", "configmaps"),
    kept(kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")),
    kept(kind("", "v1", "Secret", "secrets")),
    kind("", "v1", "Service", "services"),
    kind("", "v1", "ServiceAccount", "serviceaccounts"),
    kind("apps", "v1", "Deployment", "deployments"),
    kind("apps", "v1", "StatefulSet", "statefulsets"),
    kind("networking.k8s.io", "v1", "Ingress", "ingresses"),
    kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
    kind("route.openshift.io", "v1", "Route", "routes"),
    kind("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"),
    of_cluster(kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    )),
    of_cluster(kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    )),
];

impl Kind {
    /// Its objects: those of a namespace, if it has any.
    pub fn api(&self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(self.group, self.version, self.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, self.plural);
        if self.is_namespaced {
            Api::namespaced_with(client.clone(), namespace, &resource)
        } else {
            Api::all_with(client.clone(), &resource)
        }
    }
}

/// The kind of an object.
pub fn kind_of(object: &Value) -> Option<&'static Kind> {
    let name = object["kind"].as_str()?;
    KINDS.iter().find(|kind| kind.kind == name)
}

/// Why an object is not as it is to be.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("the API server refused")]
    Api(#[from] Error),
    #[error("the kind {0} is not among those that the operator makes")]
    Kind(String),
}

/// Makes an object what it is to be, whoever changed it; gives it back as it is then.
///
/// # Errors
/// The API server's.
pub async fn apply(
    client: &Client,
    namespace: &str,
    component: &Component,
) -> Result<DynamicObject, ApplyError> {
    let object = &component.object;
    let kind = kind_of(object).ok_or_else(|| ApplyError::Kind(object["kind"].to_string()))?;
    let api = kind.api(client, namespace);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if component.once {
        let object: DynamicObject = serde_json::from_value(object.clone()).map_err(Error::SerdeError)?;
        return Ok(api.create(&PostParams::default(), &object).await?);
    }
    let written = write(&api, kind, name, object).await?;
    // What another operator wrote before, and is not wanted, goes with a second write.
    if predecessor::take_fields(&api, &written).await? {
        return Ok(write(&api, kind, name, object).await?);
    }
    Ok(written)
}

/// Writes an object, whoever owned its fields.
async fn write(
    api: &Api<DynamicObject>,
    kind: &Kind,
    name: &str,
    object: &Value,
) -> Result<DynamicObject, Error> {
    let params = PatchParams::apply(MANAGED_BY.1).force();
    match api.patch(name, &params, &Patch::Apply(object)).await {
        // Some fields of what runs pods can't change: it is made anew, and its pods with it.
        Err(Error::Api(status)) if status.code == 422 && is_frozen(kind, &status.message) => {
            tracing::info!(kind = kind.kind, name, reason = status.message, "made anew");
            optional(api.delete(name, &DeleteParams::background()).await)?;
            api.patch(name, &params, &Patch::Apply(object)).await
        }
        written => written,
    }
}

/// Whether an API server says that what runs pods can't change like this.
fn is_frozen(kind: &Kind, message: &str) -> bool {
    match kind.kind {
        "Deployment" => message.contains("field is immutable"),
        "StatefulSet" => message.contains("updates to statefulset spec for fields other than"),
        _ => false,
    }
}

/// Deletes what was made for this owner and is not wanted any more.
///
/// # Errors
/// The API server's.
pub async fn prune(client: &Client, namespace: &str, owner: &str, wanted: &[Component]) -> Result<(), Error> {
    let wanted: BTreeSet<_> = wanted
        .iter()
        .filter_map(|component| {
            Some((component.object["kind"].as_str()?, component.object["metadata"]["name"].as_str()?))
        })
        .collect();
    let labelled = ListParams::default().labels(&format!("{}={}", MANAGED_BY.0, MANAGED_BY.1));
    for kind in KINDS.iter().filter(|kind| kind.is_pruned) {
        let api = kind.api(client, namespace);
        // Not every cluster has every kind.
        let Some(found) = optional(api.list(&labelled).await)? else { continue };
        for object in found {
            let name = object.name_any();
            let is_own = object.owner_references().iter().any(|reference| reference.uid == owner);
            if !is_own || wanted.contains(&(kind.kind, name.as_str())) {
                continue;
            }
            tracing::info!(kind = kind.kind, name, "no longer wanted");
            let precondition = Preconditions { uid: object.uid(), resource_version: None };
            let params = DeleteParams::background().preconditions(precondition);
            match api.delete(&name, &params).await {
                Err(error) if !is_missing(&error) && !is_conflict(&error) => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}
