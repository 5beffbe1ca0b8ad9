//! A host boots the image of another InfraEnv of its namespace: its Agent, which is called by its id, goes there with it (kube-api §6.5).

use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::{Agent, AgentStatus};
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::{annotation, label};
use assisted_kube::finalizer;
use assisted_reconcile::{Failure, Outcome};
use assisted_service::object::DescribedHost;
use assisted_wire::id::HostId;
use kube::ResourceExt;

use super::{AGAIN, AgentReconciler, object};
use crate::controllers::cache::get;
use crate::controllers::hub::{after, service_failure};
use crate::controllers::relations::bound_to;

/// Whether an Agent belongs to another InfraEnv than the one whose image its host has booted. An owner that somebody has taken away tells
/// nothing, and comes back.
pub(super) fn has_moved(agent: &Agent, infra_env: &ObjectKey) -> bool {
    let mut owners = agent.owner_references().iter().filter(|owner| owner.kind == "InfraEnv").peekable();
    owners.peek().is_some() && owners.all(|owner| owner.name != infra_env.name)
}

/// The Agent in the InfraEnv whose image its host has booted: what somebody wanted of it was meant for where it was, and counts no
/// more. A host that stays in its cluster stays what it is there.
fn moved(agent: &Agent, host: HostId, infra_env: &InfraEnv, cluster: Option<&ObjectKey>) -> Agent {
    let new = object::new(host, infra_env, cluster);
    let mut moved = agent.clone();
    moved.metadata.owner_references = new.metadata.owner_references;
    if cluster.is_some() && bound_to(agent).as_ref() == cluster {
        let labels = moved.metadata.labels.get_or_insert_default();
        labels.insert(label::INFRA_ENV.to_owned(), infra_env.name_any());
        return moved;
    }
    moved.metadata.labels = new.metadata.labels;
    let annotations = moved.metadata.annotations.get_or_insert_default();
    annotations.remove(annotation::INHERITED_NODE_LABELS);
    annotations.extend(new.metadata.annotations.unwrap_or_default());
    moved.spec = new.spec;
    moved
}

/// Shows no more what became of the host where it was. A node that is left to be removed stays to be removed.
fn forget(status: &mut AgentStatus) {
    *status = AgentStatus {
        conditions: std::mem::take(&mut status.conditions),
        deprovision_info: status.deprovision_info.take(),
        ..AgentStatus::default()
    };
}

impl AgentReconciler {
    /// The host that an object stands for: its newest registration. Older ones are of where it was, and go.
    pub(super) async fn newest(&self, key: &ObjectKey) -> Result<Option<HostKey>, Failure> {
        let rooms = self.hub.service.hosts();
        let found = rooms.of_object(key).await.map_err(|error| service_failure(&error))?;
        let mut found = found.into_iter();
        let newest = found.next();
        for left in found {
            let gone = Box::pin(rooms.deregister(&self.hub.caller(), left)).await;
            gone.map_err(|error| service_failure(&error))?;
        }
        Ok(newest)
    }

    /// Takes an Agent along to where its host is now; all else is seen in the pass that follows.
    pub(super) async fn start_over(
        &self,
        agent: &Agent,
        described: &DescribedHost,
    ) -> Result<Outcome, Failure> {
        let Some(infra_env) = get(&self.hub.cache.infra_envs, &described.infra_env) else {
            return Ok(after(AGAIN));
        };
        if finalizer::is_deleting(&infra_env.metadata) {
            return Ok(Outcome::Done);
        }
        let cluster = described.cluster.as_ref().and_then(|(_, object)| object.as_ref());
        // First, for an Agent that shows an installation may not leave its cluster (kube-api §5.2).
        let agent = self.change_status(agent, forget).await?;
        self.write(&agent, &moved(&agent, described.host.id, &infra_env, cluster)).await?;
        Ok(Outcome::Done)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn infra_env(name: &str) -> InfraEnv {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "site", "uid": name}, "spec": {"agentLabels": {"room": "7"}},
        }))
        .unwrap()
    }

    /// An Agent of the InfraEnv `one`, that somebody has prepared for the cluster `demo`.
    fn prepared() -> Agent {
        let owner = json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv", "name": "one", "uid": "one"});
        serde_json::from_value(json!({
            "metadata": {
                "name": "33333333-3333-4333-8333-333333333333", "namespace": "site", "ownerReferences": [owner],
                "labels": {(label::INFRA_ENV): "one", (label::BARE_METAL_HOST): "node-0"},
                "annotations": {(annotation::INHERITED_NODE_LABELS): "zone", "note": "kept"},
            },
            "spec": {"approved": true, "role": "worker", "hostname": "worker-7", "nodeLabels": {"zone": "a"},
                     "clusterDeploymentName": {"name": "demo", "namespace": "site"}},
            "status": {
                "debugInfo": {"state": "installing", "eventsURL": "http://events"},
                "deprovision_info": {"cluster_name": "old", "cluster_namespace": "site", "node_name": "worker-7", "message": ""},
                "conditions": [{"type": "Bound", "status": "True"}],
            },
        }))
        .unwrap()
    }

    #[test]
    fn what_was_wanted_of_a_host_elsewhere_counts_no_more() {
        let (before, two, demo) = (prepared(), infra_env("two"), ObjectKey::new("site", "demo"));
        let id = before.name_any().parse().unwrap();
        assert!(has_moved(&before, &ObjectKey::new("site", "two")));
        let pooled = moved(&before, id, &two, None);
        assert!(!has_moved(&pooled, &ObjectKey::new("site", "two")));
        assert_eq!(pooled.spec, object::new(id, &two, None).spec);
        assert!(!pooled.spec.approved && pooled.spec.cluster_deployment_name.is_none());
        assert_eq!(pooled.labels().keys().collect::<Vec<_>>(), [label::INFRA_ENV, "room"]);
        assert_eq!(pooled.annotations().keys().collect::<Vec<_>>(), ["note"]);
        assert_eq!(pooled.owner_references().len(), 1);

        // The other InfraEnv is for the cluster that it is in.
        let stays = moved(&before, id, &two, Some(&demo));
        assert_eq!(stays.spec, before.spec);
        assert_eq!(stays.labels()[label::INFRA_ENV], "two");
        assert_eq!(stays.labels()[label::BARE_METAL_HOST], "node-0");
        // And for another one.
        let other = moved(&before, id, &two, Some(&ObjectKey::new("site", "other")));
        assert_eq!(other.spec.cluster_deployment_name.unwrap().name, "other");
        assert!(!other.spec.approved);
    }

    #[test]
    fn an_agent_without_an_owner_has_not_moved() {
        let mut agent = prepared();
        assert!(!has_moved(&agent, &ObjectKey::new("site", "one")));
        agent.metadata.owner_references = None;
        assert!(!has_moved(&agent, &ObjectKey::new("site", "two")));
    }

    #[test]
    fn what_is_shown_of_elsewhere_goes_but_a_node_that_is_left() {
        let mut status = prepared().status.unwrap();
        forget(&mut status);
        assert!(status.debug_info.is_none());
        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.deprovision_info.unwrap().node_name, "worker-7");
    }
}
