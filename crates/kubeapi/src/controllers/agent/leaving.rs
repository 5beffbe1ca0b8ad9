//! A host leaves its cluster, and what it leaves there is removed (kube-api §6.4.1 to §6.4.3).

use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_core::state::host::stage::is_past_reboot;
use assisted_crd::agent_install::agent::{Agent, AgentStatus, CsrStatus, DeprovisionInfo};
use assisted_crd::labels::annotation;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::error::optional;
use assisted_kube::finalizer;
use assisted_reconcile::Failure;
use assisted_service::object::DescribedHost;
use assisted_wire::host::{Host, HostStage, HostStatus};
use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::AgentReconciler;
use crate::SyncError;
use crate::cluster::install_of;
use crate::controllers::cache::get;
use crate::controllers::relations::bound_to;
use crate::controllers::spoke::{SpokeError, remove_node};
use crate::sync_error::Class;

/// What is told of a node whose host has not left yet.
const WAITING: &str = "Waiting for host to unbind to do spoke cleanup";

/// The name of the host's node (kube-api §3.6): the one that it was given, else the one that it tells; empty before it tells one.
pub(in crate::controllers) fn hostname(agent: &Agent) -> &str {
    let inventory = agent.status.as_ref().and_then(|status| status.inventory.as_ref());
    let told = inventory.map_or("", |inventory| inventory.hostname.as_str());
    if agent.spec.hostname.is_empty() { told } else { &agent.spec.hostname }
}

fn has_approved_requests(agent: &Agent) -> bool {
    let status = agent.status.as_ref().and_then(|status| status.csr_status.as_ref());
    status.is_some_and(|status| !status.approved_csrs.is_empty())
}

/// Whether the host may be a node: before it reboots from its disk, another machine may be the node of its name.
fn may_be_a_node(agent: &Agent, host: &Host) -> bool {
    has_approved_requests(agent) || host.stage().is_some_and(is_past_reboot)
}

fn keeps_node(agent: &Agent) -> bool {
    agent.annotations().contains_key(annotation::SKIP_SPOKE_CLEANUP)
}

/// Whether the host is on its way out of its cluster.
fn is_leaving(status: HostStatus) -> bool {
    use HostStatus::{Reclaiming, ReclaimingRebooting, Unbinding, UnbindingPendingUserAction};
    matches!(status, Unbinding | UnbindingPendingUserAction | Reclaiming | ReclaimingRebooting)
}

/// Whether an installed node can boot the discovery image by itself.
fn can_be_reclaimed(host: &Host) -> bool {
    matches!(host.status, HostStatus::Installed | HostStatus::AddedToExistingCluster)
}

fn info(agent: &Agent) -> Option<&DeprovisionInfo> {
    agent.status.as_ref()?.deprovision_info.as_ref()
}

/// Whether a host has become something in its cluster: it is done, has got a certificate, or `machine` stands for it there.
fn is_something(agent: &Agent, machine: Option<&BareMetalHost>) -> bool {
    let progress = agent.status.as_ref().and_then(|status| status.progress.as_ref());
    let is_done = progress.is_some_and(|progress| progress.current_stage == HostStage::Done.as_str());
    let is_known =
        machine.is_some_and(|machine| machine.annotations().contains_key(annotation::BMAC_SPOKE_CREATED));
    is_done || has_approved_requests(agent) || is_known
}

/// Whether an object is there, and is not about to go.
fn remains(metadata: Option<&ObjectMeta>) -> bool {
    metadata.is_some_and(|metadata| !finalizer::is_deleting(metadata))
}

/// Whether what is left to do is left to do in this cluster.
fn is_of(info: &DeprovisionInfo, cluster: &ObjectKey) -> bool {
    info.cluster_name == cluster.name && info.cluster_namespace == cluster.namespace
}

impl AgentReconciler {
    /// Takes a host out of its cluster: the Agent as it is then, and what stands in the way.
    pub(super) async fn unbind(
        &self,
        agent: Agent,
        host: HostKey,
        described: &DescribedHost,
    ) -> Result<(Agent, Option<SyncError>), Failure> {
        let Some(cluster) = described.cluster.as_ref().and_then(|(_, object)| object.as_ref()) else {
            let problem = self.unbind_host(host, false).await.err();
            return Ok((agent, problem));
        };
        let may_be_a_node = may_be_a_node(&agent, &described.host);
        let pool = get(&self.hub.cache.infra_envs, &described.infra_env);
        let is_reclaimed = self.hub.has_images()
            // Else it can't leave, and its node must stay as it is.
            && pool.is_some_and(|pool| pool.spec.cluster_ref.is_none())
            && self.hub.bare_metal_host(&agent).is_none()
            && can_be_reclaimed(&described.host)
            && match self.hub.reclaim(cluster, host, hostname(&agent)).await {
                Ok(()) => true,
                Err(problem) => {
                    tracing::warn!(host = %host.host_id, %problem, "the host has to be booted by somebody");
                    false
                }
            };
        let before = info(&agent).filter(|info| is_of(info, cluster)).map(|info| info.node_name.clone());
        let told = DeprovisionInfo {
            cluster_name: cluster.name.clone(),
            cluster_namespace: cluster.namespace.clone(),
            message: WAITING.to_owned(),
            node_name: if may_be_a_node {
                hostname(&agent).to_owned()
            } else {
                // What an attempt that came to nothing has told.
                before.unwrap_or_default()
            },
        };
        // Before it leaves: afterwards nobody would know what is left to do, if this came to nothing.
        let leaves = |status: &mut AgentStatus| {
            status.csr_status = Some(CsrStatus::default());
            status.deprovision_info = Some(told.clone());
        };
        let agent = self.change_status(&agent, leaves).await?;
        let problem = self.unbind_host(host, is_reclaimed).await.err();
        if problem.as_ref().is_some_and(|problem| problem.class == Class::Input) {
            let stays = |status: &mut AgentStatus| status.deprovision_info = None;
            return Ok((self.change_status(&agent, stays).await?, problem));
        }
        Ok((agent, problem))
    }

    async fn unbind_host(&self, host: HostKey, is_reclaimed: bool) -> Result<(), SyncError> {
        let left = self.hub.service.hosts().unbind_described(&self.hub.caller(), host, is_reclaimed).await;
        left.map(drop).map_err(|error| SyncError::from(&error))
    }

    /// Removes from its last cluster what a host that has left it was there: the Agent as it is then, and what stands in the way. A
    /// host joins no other cluster before; an annotation of the Agent lets the node be.
    pub(super) async fn clean_up(
        &self,
        agent: Agent,
        described: &DescribedHost,
    ) -> Result<(Agent, Option<SyncError>), Failure> {
        let Some(info) = info(&agent).filter(|_| !is_leaving(described.host.status)) else {
            return Ok((agent, None));
        };
        let done = |status: &mut AgentStatus| status.deprovision_info = None;
        let cluster = described.cluster.as_ref().and_then(|(_, object)| object.as_ref());
        if let Some(cluster) = cluster.filter(|cluster| is_of(info, cluster)) {
            // It could not leave. Nothing is left to do if it is to stay after all.
            if bound_to(&agent).as_ref() == Some(cluster) {
                return Ok((self.change_status(&agent, done).await?, None));
            }
            return Ok((agent, None));
        }
        if info.node_name.is_empty() || keeps_node(&agent) {
            return Ok((self.change_status(&agent, done).await?, None));
        }
        let cluster = ObjectKey::new(&info.cluster_namespace, &info.cluster_name);
        let node = info.node_name.clone();
        let removed =
            self.hub.in_spoke(&cluster, |client| async move { remove_node(&client, &node).await }).await;
        match removed {
            Ok(()) | Err(SpokeError::NoSecret(_)) => Ok((self.change_status(&agent, done).await?, None)),
            Err(error) => {
                let text = error.to_string();
                let told = |status: &mut AgentStatus| {
                    if let Some(info) = &mut status.deprovision_info {
                        info.message.clone_from(&text);
                    }
                };
                Ok((self.change_status(&agent, told).await?, Some(SyncError::from(&error))))
            }
        }
    }

    /// Removes from its cluster what a host that goes altogether is there (kube-api §6.4.2).
    pub(super) async fn leave_for_good(&self, agent: &Agent) -> Result<(), SyncError> {
        let Some(cluster) = bound_to(agent).filter(|_| !keeps_node(agent)) else { return Ok(()) };
        if !self.is_in_cluster(agent).await? || !self.stays(agent, &cluster)? {
            return Ok(());
        }
        let node = hostname(agent).to_owned();
        if node.is_empty() {
            return Ok(());
        }
        let removed =
            self.hub.in_spoke(&cluster, |client| async move { remove_node(&client, &node).await }).await;
        removed
            .map_err(|error| SyncError::backend(format!("failed to clean spoke cluster resources: {error}")))
    }

    /// Whether the host is something in its cluster.
    async fn is_in_cluster(&self, agent: &Agent) -> Result<bool, SyncError> {
        let machine = match self.hub.bare_metal_host(agent) {
            Some(name) => {
                let api = self.hub.api::<BareMetalHost>(&agent.namespace().unwrap_or_default());
                let found = optional(api.get(name).await);
                found.map_err(|error| SyncError::backend(assisted_base::error::chain(&error)))?
            }
            None => None,
        };
        Ok(is_something(agent, machine.as_ref()))
    }

    /// Whether the cluster of a host stays when the host goes, and the InfraEnv that it would come back from.
    fn stays(&self, agent: &Agent, cluster: &ObjectKey) -> Result<bool, SyncError> {
        let deployment = get(&self.hub.cache.cluster_deployments, cluster);
        let Some(deployment) = deployment.filter(|found| remains(Some(&found.metadata))) else {
            return Ok(false);
        };
        let install = install_of(&deployment).ok_or_else(|| {
            SyncError::backend(
                "failed to check agent cluster install existence, cluster install ref is empty",
            )
        })?;
        let install = get(&self.hub.cache.installs, &ObjectKey::new(&cluster.namespace, install));
        let (_, infra_env) = self.infra_env(agent).ok_or_else(|| {
            let (name, namespace) = (agent.name_any(), agent.namespace().unwrap_or_default());
            SyncError::backend(format!(
                "failed to find infraenv name for agent {name} in namespace {namespace}"
            ))
        })?;
        Ok(remains(install.as_deref().map(|install| &install.metadata))
            && remains(infra_env.as_deref().map(|infra_env| &infra_env.metadata)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(fields: &serde_json::Value) -> Agent {
        let mut agent = json!({"metadata": {"name": "a"}, "spec": {"approved": true, "role": ""}});
        agent.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
        serde_json::from_value(agent).unwrap()
    }

    fn host(status: &str, stage: Option<&str>) -> Host {
        let at = "2024-01-01T00:00:00.000Z";
        let progress = stage
            .map(|stage| json!({"current_stage": stage, "stage_started_at": at, "stage_updated_at": at}));
        serde_json::from_value(json!({
            "kind": "Host", "id": "33333333-3333-4333-8333-333333333333", "href": "", "status": status,
            "status_info": "", "created_at": at, "updated_at": at, "progress": progress,
        }))
        .unwrap()
    }

    #[test]
    fn a_node_is_called_as_its_host() {
        let told = json!({"inventory": {"hostname": "told"}});
        assert_eq!(hostname(&agent(&json!({"status": told}))), "told");
        let spec = json!({"approved": true, "role": "", "hostname": "given"});
        assert_eq!(hostname(&agent(&json!({"spec": spec, "status": told}))), "given");
        assert_eq!(hostname(&agent(&json!({}))), "");
    }

    #[test]
    fn only_who_has_booted_from_its_disk_may_be_a_node() {
        let plain = agent(&json!({}));
        for (host, expected) in [
            (host("known", None), false),
            (host("installing-in-progress", Some("Writing image to disk")), false),
            (host("installing-in-progress", Some("Rebooting")), true),
            (host("installed", Some("Done")), true),
        ] {
            assert_eq!(may_be_a_node(&plain, &host), expected, "{host:?}");
        }
        let csr = json!({"name": "a", "type": "client", "approvedAt": "2024-01-01T00:00:00Z"});
        let approved = agent(&json!({"status": {"csrStatus": {"approvedCSRs": [csr]}}}));
        assert!(may_be_a_node(&approved, &host("known", None)));
    }

    #[test]
    fn a_host_in_the_middle_of_its_installation_may_have_left_something() {
        let at = |stage: &str| json!({"progress": {"currentStage": stage}});
        let csr = json!({"name": "a", "type": "client", "approvedAt": "2024-01-01T00:00:00Z"});
        let mut approved = at("Rebooting");
        approved["csrStatus"] = json!({"approvedCSRs": [csr]});
        let machine = |name: &str| -> BareMetalHost {
            serde_json::from_value(json!({"metadata": {"name": "m", "annotations": {(name): ""}}})).unwrap()
        };
        let (known, other) = (machine(annotation::BMAC_SPOKE_CREATED), machine("other"));
        for (status, machine, expected) in [
            (at("Done"), None, true),
            (at("Rebooting"), None, false),
            (approved, None, true),
            (at("Writing image to disk"), Some(&other), false),
            (at("Writing image to disk"), Some(&known), true),
            (json!({}), None, false),
        ] {
            assert_eq!(is_something(&agent(&json!({"status": status})), machine), expected, "{status}");
        }
    }

    #[test]
    fn an_object_that_is_about_to_go_does_not_remain() {
        let going: ObjectMeta =
            serde_json::from_value(json!({"deletionTimestamp": "2024-01-01T00:00:00Z"})).unwrap();
        assert!(remains(Some(&ObjectMeta::default())));
        assert!(!remains(Some(&going)) && !remains(None));
    }

    #[test]
    fn only_installed_hosts_are_reclaimed() {
        for status in HostStatus::ALL {
            let expected = matches!(status, HostStatus::Installed | HostStatus::AddedToExistingCluster);
            assert_eq!(can_be_reclaimed(&host(status.as_str(), None)), expected, "{status}");
        }
    }
}
