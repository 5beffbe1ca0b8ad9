//! An Agent itself: how it is made, and what it carries beside its spec (kube-api §6.4.6, §6.4.10, §6.5).

use std::collections::BTreeMap;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::common::ClusterReference;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_kube::finalizer;
use assisted_wire::host::Host;
use assisted_wire::id::HostId;
use assisted_wire::inventory::Inventory;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;

use super::inventory;

/// Version of the labels that tell of an inventory.
const LABELS_VERSION: &str = "0.1";
/// Bytes of a report that is kept in an annotation; an API server takes 256 KiB of annotations in all.
const LARGEST: usize = 160 << 10;

/// The Agent of a host that registered with the InfraEnv's image.
pub(super) fn new(host: HostId, infra_env: &InfraEnv, cluster: Option<&ObjectKey>) -> Agent {
    let mut agent = Agent::default();
    agent.metadata.name = Some(host.to_string());
    agent.metadata.namespace = infra_env.namespace();
    finalizer::add(&mut agent.metadata, names::AGENT);
    let labels = agent.metadata.labels.get_or_insert_default();
    labels.insert(label::INFRA_ENV.to_owned(), infra_env.name_any());
    labels.extend(infra_env.spec.agent_labels.clone());
    agent.metadata.owner_references = Some(vec![owner(infra_env)]);
    agent.spec.cluster_deployment_name =
        cluster.map(|key| ClusterReference { name: key.name.clone(), namespace: key.namespace.clone() });
    let inherited = inherited(infra_env);
    if !inherited.is_empty() {
        let keys: Vec<_> = inherited.keys().cloned().collect();
        let annotations = agent.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::INHERITED_NODE_LABELS.to_owned(), keys.join(","));
        agent.spec.node_labels = inherited;
    }
    agent
}

/// Labels of the InfraEnv that its hosts' nodes get.
fn inherited(infra_env: &InfraEnv) -> BTreeMap<String, String> {
    let Some(keys) = infra_env.annotations().get(annotation::PROPAGATE_NODE_LABELS) else {
        return BTreeMap::new();
    };
    let label = |key: &str| Some((key.to_owned(), infra_env.labels().get(key)?.clone()));
    keys.split(',').map(str::trim).filter_map(label).collect()
}

fn owner(infra_env: &InfraEnv) -> OwnerReference {
    OwnerReference {
        api_version: "agent-install.openshift.io/v1beta1".to_owned(),
        kind: "InfraEnv".to_owned(),
        name: infra_env.name_any(),
        uid: infra_env.metadata.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// The Agent with what it carries now: its owner, labels, and what a lost row of the host is made anew from. An InfraEnv that
/// approves its hosts approves it.
pub(super) fn dressed(
    agent: &Agent,
    infra_env: Option<&InfraEnv>,
    host: &Host,
    known: Option<&Inventory>,
) -> Agent {
    let mut dressed = agent.clone();
    if let Some(infra_env) = infra_env {
        let owner = owner(infra_env);
        let owners = dressed.metadata.owner_references.get_or_insert_default();
        // An InfraEnv that was made anew under its name is another owner.
        owners.retain(|known| known.kind != owner.kind || known.uid == owner.uid);
        if !owners.iter().any(|known| known.uid == owner.uid) {
            owners.push(owner);
        }
        let labels = dressed.metadata.labels.get_or_insert_default();
        labels.insert(label::INFRA_ENV.to_owned(), infra_env.name_any());
        let approval = infra_env.spec.agent_approval.as_ref();
        if approval.and_then(|approval| approval.auto_approve) == Some(true) {
            dressed.spec.approved = true;
        }
    }
    let annotations = dressed.metadata.annotations.get_or_insert_default();
    let kept = [
        (annotation::AGENT_STATE, host.status.as_str()),
        (annotation::AGENT_ROLE, host.role.map_or("", |role| role.as_str())),
        (annotation::AGENT_INVENTORY, host.inventory.as_str()),
        (annotation::AGENT_VALIDATIONS_INFO, host.validations_info.as_str()),
        (annotation::AGENT_CURRENT_STAGE, host.stage().map_or("", |stage| stage.as_str())),
    ];
    let mut left = LARGEST;
    for (name, value) in kept {
        if value.is_empty() || value.len() > left {
            annotations.remove(name);
        } else {
            left -= value.len();
            annotations.insert(name.to_owned(), value.to_owned());
        }
    }
    if let Some(known) = known {
        annotations.insert(annotation::INVENTORY_VERSION.to_owned(), LABELS_VERSION.to_owned());
        let namespace = agent.spec.cluster_deployment_name.as_ref().map(|cluster| cluster.namespace.clone());
        let labels = dressed.metadata.labels.get_or_insert_default();
        labels.extend(inventory::labels(known));
        labels.insert(label::CLUSTER_DEPLOYMENT_NAMESPACE.to_owned(), namespace.unwrap_or_default());
    }
    dressed
}

#[cfg(test)]
mod tests {
    use assisted_crd::agent_install::infra_env::AgentApproval;
    use serde_json::json;

    use super::*;

    fn infra_env() -> InfraEnv {
        let mut infra_env = InfraEnv::default();
        infra_env.metadata.name = Some("rack".to_owned());
        infra_env.metadata.namespace = Some("site".to_owned());
        infra_env.metadata.uid = Some("1".to_owned());
        infra_env.metadata.labels =
            Some(BTreeMap::from([("zone".to_owned(), "a".to_owned()), ("other".to_owned(), "b".to_owned())]));
        infra_env.metadata.annotations =
            Some(BTreeMap::from([(annotation::PROPAGATE_NODE_LABELS.to_owned(), "zone, none".to_owned())]));
        infra_env.spec.agent_labels = BTreeMap::from([("room".to_owned(), "7".to_owned())]);
        infra_env
    }

    fn host(inventory: &str) -> Host {
        let at = "2024-01-01T00:00:00.000Z";
        serde_json::from_value(json!({
            "kind": "Host", "id": "33333333-3333-4333-8333-333333333333", "href": "", "status": "known",
            "status_info": "", "role": "worker", "inventory": inventory, "created_at": at, "updated_at": at,
        }))
        .unwrap()
    }

    #[test]
    fn a_new_agent_belongs_to_its_infra_env_and_inherits() {
        let cluster = ObjectKey::new("site", "demo");
        let agent = new(host("").id, &infra_env(), Some(&cluster));
        assert_eq!(agent.name_any(), "33333333-3333-4333-8333-333333333333");
        assert_eq!(agent.labels()[label::INFRA_ENV], "rack");
        assert_eq!(agent.labels()["room"], "7");
        assert_eq!(agent.spec.node_labels, BTreeMap::from([("zone".to_owned(), "a".to_owned())]));
        assert_eq!(agent.annotations()[annotation::INHERITED_NODE_LABELS], "zone");
        assert_eq!(agent.owner_references()[0].name, "rack");
        assert!(!agent.spec.approved && finalizer::has(&agent.metadata, names::AGENT));
        assert_eq!(agent.spec.cluster_deployment_name.unwrap().name, "demo");
    }

    #[test]
    fn what_a_lost_row_is_made_from_is_kept_and_what_is_too_large_is_not() {
        let mut infra_env = infra_env();
        infra_env.spec.agent_approval = Some(AgentApproval { auto_approve: Some(true) });
        let text = r#"{"hostname":"a"}"#;
        let inventory: Inventory = serde_json::from_str(text).unwrap();
        let agent =
            dressed(&new(host("").id, &infra_env, None), Some(&infra_env), &host(text), Some(&inventory));
        assert!(agent.spec.approved);
        assert_eq!(agent.annotations()[annotation::AGENT_STATE], "known");
        assert_eq!(agent.annotations()[annotation::AGENT_INVENTORY], text);
        assert_eq!(agent.labels()[label::CLUSTER_DEPLOYMENT_NAMESPACE], "");
        // It stays as it is.
        assert_eq!(dressed(&agent, Some(&infra_env), &host(text), Some(&inventory)), agent);
        let large = "x".repeat(LARGEST);
        let agent = dressed(&agent, Some(&infra_env), &host(&large), None);
        assert!(!agent.annotations().contains_key(annotation::AGENT_INVENTORY));
    }
}
