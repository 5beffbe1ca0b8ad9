//! AgentClassifications (kube-api §6.8): Agents get their labels, and they show how many did.

mod labels;

use std::sync::Arc;

use assisted_base::process::Cmd;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::AgentClassification;
use assisted_crd::labels::finalizer as names;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome, Reconciler};
use kube::ResourceExt;

use super::cache::get;
use super::hub::{Hub, failed, now};
use super::queues::Row;
use crate::classification::{Queries, QueryError};
use labels::QueryOutcome;

pub(super) use labels::of_classifications;

/// Labels Agents by what the queries of their namespace say of them.
pub(super) struct AgentLabelReconciler {
    hub: Hub,
    queries: Queries,
}

impl AgentLabelReconciler {
    /// `program` answers queries.
    pub(super) fn new(hub: &Hub, program: &Cmd) -> Self {
        Self { hub: Hub::clone(hub), queries: Queries::new(program) }
    }
}

impl Reconciler for AgentLabelReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let Some(agent) = get(&self.hub.cache.agents, &row.key) else { return Ok(Outcome::Done) };
        let mut classifications = within(&self.hub, &row.key.namespace);
        // Those that go make room for those that stay; of several with one key the last by name wins.
        classifications.sort_by_key(|object| (!finalizer::is_deleting(&object.metadata), object.name_any()));
        let inventory = inventory(&agent).map_err(Failure::of_row)?;
        let mut answers = Vec::with_capacity(classifications.len());
        for classification in &classifications {
            answers.push(self.answer(classification, &inventory).await?);
        }
        let mut labelled = (*agent).clone();
        let labels = labelled.metadata.labels.get_or_insert_default();
        labels::apply(labels, classifications.iter().map(|object| &**object).zip(answers));
        // Nobody else writes these labels.
        let api = self.hub.api::<Agent>(&row.key.namespace);
        write::object(&api, &*agent, &labelled, Guard::Free).await.map_err(|error| failed(&error))?;
        Ok(Outcome::Done)
    }
}

impl AgentLabelReconciler {
    async fn answer(
        &self,
        classification: &AgentClassification,
        inventory: &str,
    ) -> Result<QueryOutcome, Failure> {
        if finalizer::is_deleting(&classification.metadata) {
            return Ok(QueryOutcome::NoMatch);
        }
        match self.queries.ask(&classification.spec.query, inventory).await {
            Ok(true) => Ok(QueryOutcome::Match),
            Ok(false) => Ok(QueryOutcome::NoMatch),
            Err(error @ QueryError::Process(_)) => Err(Failure::passing(error)),
            Err(error) => {
                tracing::debug!(classification = classification.name_any(), %error, "a query fails");
                Ok(QueryOutcome::Failed)
            }
        }
    }
}

/// The inventory as JSON; that of an Agent that has none is empty.
fn inventory(agent: &Agent) -> Result<String, serde_json::Error> {
    let inventory = agent.status.as_ref().and_then(|status| status.inventory.as_ref());
    inventory.map_or_else(|| Ok("{}".to_owned()), serde_json::to_string)
}

/// The classifications of a namespace.
fn within(hub: &Hub, namespace: &str) -> Vec<Arc<AgentClassification>> {
    hub.cache.classifications.state_filter(|object| object.metadata.namespace.as_deref() == Some(namespace))
}

/// Shows how many Agents carry the label of a classification, and lets it go when none does any more.
pub(super) struct ClassificationReconciler {
    hub: Hub,
}

impl ClassificationReconciler {
    pub(super) fn new(hub: &Hub) -> Self {
        Self { hub: Hub::clone(hub) }
    }
}

impl Reconciler for ClassificationReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let Some(object) = get(&self.hub.cache.classifications, &row.key) else { return Ok(Outcome::Done) };
        let mut object = (*object).clone();
        let api = self.hub.api::<AgentClassification>(&row.key.namespace);
        let is_deleting = finalizer::is_deleting(&object.metadata);
        let mut kept = object.clone();
        if !is_deleting && finalizer::add(&mut kept.metadata, names::AGENT_CLASSIFICATION) {
            let written = write::object(&api, &object, &kept, Guard::Version).await;
            object = written.map_err(|error| failed(&error))?.unwrap_or(object);
        }
        let of_namespace = |agent: &Agent| agent.metadata.namespace.as_deref() == Some(&row.key.namespace);
        let agents = self.hub.cache.agents.state_filter(of_namespace);
        let counts = labels::count(&object, agents.iter().map(|agent| &**agent));
        let show = |object: &mut AgentClassification| {
            object.status = Some(labels::status(object.status.as_ref(), counts, &now()));
        };
        let object = write::status(&api, &object, show).await.map_err(|error| failed(&error))?;
        if is_deleting && finalizer::has(&object.metadata, names::AGENT_CLASSIFICATION) {
            let others = within(&self.hub, &row.key.namespace);
            let is_kept = others.iter().any(|other| labels::is_said_by_another(&object, other));
            if counts.own > 0 && !is_kept {
                return Ok(Outcome::Wait { reason: format!("{} Agents still carry its label", counts.own) });
            }
            let mut released = object.clone();
            finalizer::remove(&mut released.metadata, names::AGENT_CLASSIFICATION);
            write::object(&api, &object, &released, Guard::Version).await.map_err(|error| failed(&error))?;
        }
        Ok(Outcome::Done)
    }
}
