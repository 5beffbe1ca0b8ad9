//! Objects of the infrastructure: a kind that is only known by its definition, cloned from a template.

use std::collections::BTreeMap;

use assisted_crd::cluster_api::common::ContractReference;
use assisted_crd::cluster_api::labels::{annotation, label};
use assisted_kube::write::{self, Guard};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

/// Labels that tell which versions of a kind fit a contract of Cluster API, the newest first.
const CONTRACTS: [&str; 2] = ["cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"];
const SUFFIX: &str = "Template";

/// What a clone gets beside what its template says.
pub(super) struct Clone<'a> {
    /// Begin of its name.
    pub(super) prefix: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) owner: &'a OwnerReference,
    /// Whom the template goes with.
    pub(super) cluster: &'a OwnerReference,
}

/// Why there is no clone.
#[derive(Debug, thiserror::Error)]
pub(super) enum CloneError {
    #[error("error fetching infrastructure template: {0}")]
    Template(String),
    #[error("error generating infrastructure clone: {0}")]
    Generate(String),
    #[error("error creating infrastructure clone: {0}")]
    Create(String),
}

fn text(error: &kube::Error) -> String {
    assisted_base::error::chain(error)
}

/// The plural name of a kind, as Cluster API forms it.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

/// Which version of a kind fits the contract.
async fn resource(client: &Client, group: &str, kind: &str) -> Result<ApiResource, String> {
    let plural = plural(kind);
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = definitions.get(&format!("{plural}.{group}")).await.map_err(|error| text(&error))?;
    let version = CONTRACTS.iter().find_map(|contract| {
        let versions = definition.labels().get(*contract)?;
        versions.split('_').next_back().filter(|version| !version.is_empty())
    });
    let version = version.ok_or_else(|| {
        format!(
            "the definition of {kind} does not tell which version fits Cluster API: it has no label {}",
            CONTRACTS[0]
        )
    })?;
    Ok(ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural))
}

/// Makes an object from a template; its name has something random at its end.
pub(super) async fn clone(
    client: &Client,
    namespace: &str,
    template: &ContractReference,
    wanted: Clone<'_>,
) -> Result<ContractReference, CloneError> {
    let ContractReference { api_group: group, kind, name } = template;
    let of_template = resource(client, group, kind).await.map_err(CloneError::Template)?;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &of_template);
    let found = api.get(name).await.map_err(|error| CloneError::Template(text(&error)))?;
    adopt(&api, &found, wanted.cluster).await.map_err(CloneError::Template)?;
    let own_kind = kind.strip_suffix(SUFFIX);
    let own_kind = own_kind.ok_or_else(|| CloneError::Generate(format!("{kind} is no kind of templates")))?;
    let body = found
        .data
        .pointer("/spec/template")
        .ok_or_else(|| CloneError::Generate(format!("{kind} {name} has no spec.template")))?;
    let own = resource(client, group, own_kind).await.map_err(CloneError::Generate)?;
    let mut object = DynamicObject::new("", &own);
    object.metadata.name = None;
    object.metadata.generate_name = Some(wanted.prefix);
    object.metadata.namespace = Some(namespace.to_owned());
    let of = |member: &str| -> BTreeMap<String, String> {
        let members = body.pointer(&format!("/metadata/{member}")).and_then(Value::as_object);
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        members.into_iter().flatten().filter_map(text).collect()
    };
    let mut labels = of("labels");
    labels.extend(wanted.labels);
    let mut annotations = of("annotations");
    annotations.extend(wanted.annotations);
    annotations.insert(annotation::CLONED_FROM_NAME.to_owned(), name.clone());
    annotations.insert(annotation::CLONED_FROM_GROUP_KIND.to_owned(), format!("{kind}.{group}"));
    (object.metadata.labels, object.metadata.annotations) = (Some(labels), Some(annotations));
    object.metadata.owner_references = Some(vec![wanted.owner.clone()]);
    object.data = serde_json::json!({"spec": body.get("spec").cloned().unwrap_or_default()});
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &own);
    let made = api.create(&PostParams::default(), &object).await;
    let made = made.map_err(|error| CloneError::Create(text(&error)))?;
    Ok(ContractReference { api_group: group.clone(), kind: own_kind.to_owned(), name: made.name_any() })
}

/// Has a template go, and move to another management cluster, with the Cluster that it is used for: so does the core with templates of
/// workers.
async fn adopt(
    api: &Api<DynamicObject>,
    template: &DynamicObject,
    cluster: &OwnerReference,
) -> Result<(), String> {
    if template.owner_references().iter().any(|owner| owner.uid == cluster.uid) {
        return Ok(());
    }
    let mut adopted = template.clone();
    adopted.metadata.owner_references.get_or_insert_default().push(cluster.clone());
    write::object(api, template, &adopted, Guard::Version).await.map(drop).map_err(|error| text(&error))
}

/// A clone that nobody took into use: whoever made it ended before there was a Machine for it.
pub(super) async fn left_over(
    client: &Client,
    namespace: &str,
    template: &ContractReference,
    wanted: &Clone<'_>,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Option<ContractReference>, CloneError> {
    let ContractReference { api_group: group, kind, name } = template;
    let Some(own_kind) = kind.strip_suffix(SUFFIX) else { return Ok(None) };
    let own = resource(client, group, own_kind).await.map_err(CloneError::Generate)?;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &own);
    let keys = [label::CLUSTER_NAME, label::CONTROL_PLANE_NAME];
    let labels = keys.iter().filter_map(|key| Some(format!("{key}={}", wanted.labels.get(*key)?)));
    let labels = ListParams::default().labels(&labels.collect::<Vec<_>>().join(","));
    let found = api.list(&labels).await.map_err(|error| CloneError::Create(text(&error)))?;
    let is_left = |clone: &&DynamicObject| {
        let owners = clone.owner_references();
        clone.metadata.deletion_timestamp.is_none()
            && clone.annotations().get(annotation::CLONED_FROM_NAME) == Some(name)
            && owners.iter().any(|owner| owner.uid == wanted.owner.uid)
            && !owners.iter().any(|owner| owner.kind == "Machine")
            && !is_taken(&clone.name_any())
    };
    let left = found.items.iter().find(is_left);
    Ok(left.map(|clone| ContractReference {
        api_group: group.clone(),
        kind: own_kind.to_owned(),
        name: clone.name_any(),
    }))
}

/// Takes back a clone that is of no use.
pub(super) async fn remove(client: &Client, namespace: &str, clone: &ContractReference) {
    let removed = async {
        let resource = resource(client, &clone.api_group, &clone.kind).await?;
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        api.delete(&clone.name, &DeleteParams::default()).await.map_err(|error| text(&error)).map(drop)
    };
    if let Err(error) = removed.await {
        tracing::warn!(
            kind = clone.kind,
            name = clone.name,
            error,
            "a machine of the infrastructure that is of no use stays"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plural_names() {
        for (kind, name) in [
            ("Metal3MachineTemplate", "metal3machinetemplates"),
            ("Metal3Machine", "metal3machines"),
            ("Proxy", "proxies"),
            ("Gateway", "gateways"),
            ("Box", "boxes"),
        ] {
            assert_eq!(plural(kind), name);
        }
    }
}
