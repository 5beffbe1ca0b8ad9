//! The hosts that join a cluster: their certificates, labels and stages, from their reboot until their nodes are ready.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::{Agent, ApprovedCsr, CsrStatus};
use assisted_kube::host::{KnownHost, of_name};
use assisted_kube::node::{self, Node};
use assisted_kube::write;
use assisted_reconcile::{Failure, Outcome, Reconciler};
use assisted_service::object::DescribedCluster;
use assisted_wire::cluster::ClusterKind;
use assisted_wire::host::Host;
use assisted_wire::id::HostId;
use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::approval::{Approved, approve};
use super::connections::SpokeError;
use super::joining::{is_followed, needs_approval, reached, tracked};
use super::pool;
use crate::controllers::hub::{Hub, after, failed, now, service_failure};
use crate::controllers::queues::{Row, mark};

/// Takes in the nodes of hosts that join clusters; a row is a ClusterDeployment.
pub(in crate::controllers) struct SpokeReconciler {
    hub: Hub,
}

impl SpokeReconciler {
    pub(in crate::controllers) fn new(hub: &Hub) -> Self {
        Self { hub: Hub::clone(hub) }
    }
}

impl Reconciler for SpokeReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let key = &row.key;
        let found =
            self.hub.service.clusters().of_object(key).await.map_err(|error| service_failure(&error))?;
        let Some(known) = found else {
            self.hub.spokes.forget(key);
            return Ok(Outcome::Done);
        };
        let agents = self.hub.index.agents_of(&self.hub.cache.agents, key);
        let is_followed = known.hosts.iter().any(is_followed);
        let pause = pool::pause(&agents, &known.hosts);
        if known.cluster.kind != ClusterKind::AddHostsCluster || !is_followed && pause.is_none() {
            self.report_problem(key, &agents, None);
            return Ok(Outcome::Done);
        }
        match Box::pin(self.work(key, &known, &agents, pause)).await? {
            Ok(()) => {
                self.report_problem(key, &agents, None);
                let again = self.hub.service.settings().kube.approve_csrs_requeue;
                Ok(if is_followed { after(again) } else { Outcome::Done })
            }
            Err(error) => {
                let text = error.to_string();
                self.report_problem(key, &agents, Some(text.clone()));
                Err(Failure::passing(text))
            }
        }
    }
}

/// A host that joins, with its Agent.
struct Joining<'a> {
    host: &'a Host,
    agent: &'a Agent,
    /// Whether its requests for certificates are approved here.
    approved_here: bool,
}

impl SpokeReconciler {
    /// Has the objects of a cluster show what stands in the way there, if that has changed.
    fn report_problem(&self, key: &ObjectKey, agents: &[Arc<Agent>], problem: Option<String>) {
        if self.hub.spokes.record_problem(key, problem) {
            mark(&self.hub.queues.clusters, key.clone());
            for agent in agents {
                mark(
                    &self.hub.queues.agents,
                    ObjectKey::new(agent.namespace().unwrap_or_default(), agent.name_any()),
                );
            }
        }
    }

    /// One pass over a cluster.
    async fn work(
        &self,
        key: &ObjectKey,
        known: &DescribedCluster,
        agents: &[Arc<Agent>],
        pause: Option<bool>,
    ) -> Result<Result<(), SpokeError>, Failure> {
        let joining: Vec<_> = known.hosts.iter().filter(|host| is_followed(host)).collect();
        let joining: Vec<_> = joining
            .into_iter()
            .filter_map(|host| {
                let name = host.id.to_string();
                let agent = agents.iter().find(|agent| agent.name_any() == name)?;
                let has_bare_metal_host = self.hub.bare_metal_host(agent).is_some();
                let approved_here = needs_approval(host, &known.cluster, has_bare_metal_host);
                Some(Joining { host, agent, approved_here })
            })
            .collect();
        let hosts = if joining.is_empty() {
            Vec::new()
        } else {
            let found = self.hub.service.clusters().hosts_with_inventory(known.cluster.id).await;
            found.map_err(|error| service_failure(&error))?.into_iter().map(KnownHost::of).collect()
        };
        let work = |client: Client| {
            let (hosts, joining) = (&hosts, &joining);
            async move {
                if let Some(paused) = pause {
                    pool::set(&client, paused).await?;
                }
                if joining.is_empty() {
                    return Ok((BTreeMap::new(), Approved::new()));
                }
                let nodes = node::list(&client).await?;
                let wanted = joining.iter().filter(|joining| joining.approved_here);
                let wanted: BTreeSet<_> = wanted.map(|joining| joining.host.id).collect();
                let approved = approve(&client, &known.cluster, hosts, &nodes, &wanted).await?;
                let nodes = by_host(hosts, nodes);
                for joining in joining {
                    if let Some(node) = nodes.get(&joining.host.id).filter(|node| node.ready) {
                        label(&client, node, joining.agent).await?;
                    }
                }
                Ok((nodes, approved))
            }
        };
        let (nodes, mut approved) = match self.hub.in_spoke(key, work).await {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        for joining in &joining {
            let found = approved.remove(&joining.host.id).unwrap_or_default();
            let status = match joining.approved_here {
                true => self.show(joining.agent, &found).await?,
                false => None,
            };
            let node = nodes.get(&joining.host.id);
            if let (Some(progress), Some(infra_env_id)) =
                (reached(joining.host, node, status.as_ref()), joining.host.infra_env_id)
            {
                let host = HostKey { infra_env_id, host_id: joining.host.id };
                let told = self.hub.service.hosts();
                told.update_install_progress(&self.hub.caller(), host, progress)
                    .await
                    .map_err(|error| service_failure(&error))?;
            }
        }
        Ok(Ok(()))
    }

    /// Shows which requests are approved, these among them: all that are.
    async fn show(&self, agent: &Agent, found: &[ApprovedCsr]) -> Result<Option<CsrStatus>, Failure> {
        let show = |agent: &mut Agent| {
            let status = agent.status.get_or_insert_default();
            status.csr_status = Some(tracked(status.csr_status.as_ref(), found, &now()));
        };
        let api = self.hub.api(&agent.namespace().unwrap_or_default());
        let agent = write::status(&api, agent, show).await.map_err(|error| failed(&error))?;
        Ok(agent.status.and_then(|status| status.csr_status))
    }
}

/// Nodes by the hosts whose names they have; an address may have been another node's before.
fn by_host(hosts: &[KnownHost], nodes: Vec<Node>) -> BTreeMap<HostId, Node> {
    let mut found = BTreeMap::new();
    for node in nodes {
        let Ok(Some(host)) = of_name(hosts, &node.name) else { continue };
        // The full name counts more than another form of it.
        if host.host.requested_hostname.eq_ignore_ascii_case(&node.name) {
            found.insert(host.host.id, node);
        } else {
            found.entry(host.host.id).or_insert(node);
        }
    }
    found
}

/// Sets the labels of a node, if one is missing or another.
async fn label(client: &Client, node: &Node, agent: &Agent) -> Result<(), kube::Error> {
    let wanted = &agent.spec.node_labels;
    let have = node.metadata.labels.as_ref();
    if wanted.iter().all(|(key, value)| have.and_then(|have| have.get(key)) == Some(value)) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"metadata": {"labels": wanted}}));
    let api = Api::<core::Node>::all(client.clone());
    api.patch(&node.name, &PatchParams::default(), &patch).await.map(drop)
}
