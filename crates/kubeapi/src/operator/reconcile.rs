//! Brings the AgentServiceConfig to where it should be: facts, objects, conditions.

use std::collections::BTreeSet;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::condition::{Statement, set};
use assisted_crd::labels::finalizer;
use assisted_kube::error::{is_missing, is_refused, message};
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Api, Client, Resource, ResourceExt};
use parking_lot::Mutex;

use super::conditions::{self, Health, ReconcileError, reasons};
use super::desired::{Hosted, Input, annotation_of, desired, has_image_service, is_given};
use super::environment::Environment;
use super::gather::{self, GatherError};
use super::local_cluster::{self, Import};
use super::{CONFIG, MANAGED_BY, annotation, apply, finalizers, health, predecessor, validate};

/// The finalizer of an operator that was here before: nothing waits for it, since everything is owned; and that of the import of the
/// hub's own cluster, of which not everything is.
const FINALIZERS: &[&str] = &[finalizer::AGENT_SERVICE_CONFIG, finalizer::LOCAL_CLUSTER_IMPORT];

/// When the hub's own cluster is looked at again: each of the objects that it is made of may have changed.
const LOCAL_CLUSTER: Duration = Duration::from_secs(600);
/// The same while something is in the way.
const LOCAL_CLUSTER_AGAIN: Duration = Duration::from_secs(20);

/// Events that are remembered as published.
const MOST_PUBLISHED: usize = 1000;

/// The operator.
pub struct Operator {
    pub(super) client: Client,
    pub(super) environment: Environment,
    is_openshift: bool,
    recorder: Recorder,
    /// Events that were published, so that each is published once as long as it holds.
    published: Mutex<BTreeSet<(String, String)>>,
}

/// What one pass over an object brought.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) outcome: Result<(), ReconcileError>,
    pub(super) health: Option<Health>,
    pub(super) ephemeral: Option<bool>,
    immutable: Option<std::collections::BTreeMap<String, String>>,
    pub(super) again: Option<Timestamp>,
}

impl Pass {
    pub(super) fn failed(problem: ReconcileError) -> Self {
        Self { outcome: Err(problem), health: None, ephemeral: None, immutable: None, again: None }
    }
}

impl Operator {
    /// An operator of these variables.
    pub fn new(client: Client, environment: Environment, is_openshift: bool) -> Self {
        let reporter =
            Reporter { controller: MANAGED_BY.1.to_owned(), instance: environment.pod_name.clone() };
        let recorder = Recorder::new(client.clone(), reporter);
        Self { client, environment, is_openshift, recorder, published: Mutex::default() }
    }

    /// Makes one pass over an AgentServiceConfig.
    ///
    /// # Errors
    /// The API server refuses, or can't be reached; what is wrong with the object itself stands in its conditions.
    pub async fn reconcile_config(&self, name: &str) -> Result<Outcome, Failure> {
        let api: Api<AgentServiceConfig> = Api::all(self.client.clone());
        let Some(config) = api.get_opt(name).await.map_err(|error| failure(&error))? else {
            return Ok(Outcome::Done);
        };
        if name != CONFIG {
            let text = "Only one AgentServiceConfig supported per cluster and must be named 'agent'";
            self.publish_event(&config, EventType::Warning, &format!("Invalid name ({name})"), text).await;
            return Ok(Outcome::Wait { reason: text.to_owned() });
        }
        if config.metadata.deletion_timestamp.is_some() {
            self.release(&api, &config).await.map_err(|error| failure(&error))?;
            return Ok(Outcome::Done);
        }
        let brought = async {
            let immutable = validate::immutable_annotations(&config)?;
            self.tell_settings(&config).await;
            let pass = self.bring(&config, &self.environment, None).await?;
            Ok::<_, GatherError>(Pass { immutable: Some(immutable), ..pass })
        };
        let mut pass = match brought.await {
            Ok(pass) => pass,
            Err(GatherError::ReconcileError(problem)) => Pass::failed(problem),
            Err(GatherError::Api(error)) => return Err(failure(&error)),
        };
        let imported = self.import(&api, &config).await.map_err(|error| failure(&error))?;
        if let Some(pause) = imported.as_ref().and_then(pause) {
            let at = Timestamp::now().checked_add(pause).unwrap_or(Timestamp::MAX);
            pass.again = Some(pass.again.map_or(at, |again| again.min(at)));
        }
        let said = imported.map(|imported| imported.condition);
        self.write_status(&api, &config, &pass, said).await.map_err(|error| failure(&error))?;
        match pass.outcome {
            Ok(()) => Ok(pass.again.map_or(Outcome::Done, Outcome::After)),
            Err(problem) => {
                self.publish_event(&config, EventType::Warning, problem.outcome.reason, &problem.text).await;
                // What else is to be looked at again does not wait for it.
                Ok(pass.again.map_or(Outcome::Wait { reason: problem.text }, Outcome::After))
            }
        }
    }

    /// Brings the objects to where they should be; `environment` says in which namespace they are.
    pub(super) async fn bring(
        &self,
        config: &AgentServiceConfig,
        environment: &Environment,
        hosted: Option<&Hosted>,
    ) -> Result<Pass, GatherError> {
        let namespace = &environment.namespace;
        let facts = gather::facts(&self.client, &self.environment, namespace, config).await?;
        validate::check(config, &facts)?;
        let ephemeral = Some(!is_given(&config.spec.filesystem_storage));
        let fresh = gather::fresh(&facts, Timestamp::now())
            .map_err(|error| ReconcileError::new(reasons::AGENT_LOCAL_AUTH_SECRET, error.to_string()))?;
        let input = Input { config, environment, facts: &facts, fresh: &fresh, hosted };
        let desired = desired(&input)?;

        // First: it would keep a StatefulSet that has to be made anew.
        if facts.has_image_service {
            predecessor::drop_finalizer(&self.client, namespace).await?;
        }
        let mut applied = Vec::new();
        for component in &desired.components {
            match apply::apply(&self.client, namespace, component).await {
                Ok(object) => applied.push(object),
                // A refusal concerns this object; nothing else works either when the API is away.
                Err(error) if refuses(&error) => {
                    let text = format!("Failed to ensure {}: {}", component.name, api_message(&error));
                    let problem = ReconcileError::new(component.failure, text);
                    return Ok(Pass { ephemeral, ..Pass::failed(problem) });
                }
                Err(apply::ApplyError::Api(error)) => return Err(error.into()),
                Err(error) => {
                    return Err(ReconcileError::new(component.failure, chain(&error)).into());
                }
            }
        }
        if let Some(pending) = desired.pending {
            return Ok(Pass { ephemeral, ..Pass::failed(pending) });
        }
        let owner = config.uid().unwrap_or_default();
        predecessor::delete_deployment(&self.client, namespace, &owner).await?;
        apply::prune(&self.client, namespace, &owner, &desired.components).await?;
        Ok(Pass {
            outcome: Ok(()),
            health: Some(health::of(&applied)),
            ephemeral,
            immutable: None,
            again: desired.renew_at,
        })
    }

    /// Has the hub's own cluster taken in, where that is wanted; `None`: nobody could ever want it here.
    async fn import(
        &self,
        api: &Api<AgentServiceConfig>,
        config: &AgentServiceConfig,
    ) -> Result<Option<Import>, kube::Error> {
        if !self.is_openshift {
            return Ok(None);
        }
        let mut kept = config.clone();
        if local_cluster::is_wanted(config)
            && assisted_kube::finalizer::add(&mut kept.metadata, finalizer::LOCAL_CLUSTER_IMPORT)
        {
            write::object(api, config, &kept, Guard::Version).await?;
        }
        let imported = local_cluster::import(&self.client, config).await?;
        if let Some(problem) = &imported.problem {
            tracing::warn!(problem, "the hub's own cluster is not taken in");
        }
        Ok(Some(imported))
    }

    /// Everything is owned: the API server's own collector takes it away.
    async fn release(
        &self,
        api: &Api<AgentServiceConfig>,
        config: &AgentServiceConfig,
    ) -> Result<(), kube::Error> {
        predecessor::drop_finalizer(&self.client, &self.environment.namespace).await?;
        if config.finalizers().iter().any(|name| name == finalizer::LOCAL_CLUSTER_IMPORT) {
            local_cluster::remove(&self.client).await?;
        }
        finalizers::remove(api, config, FINALIZERS).await
    }

    async fn write_status(
        &self,
        api: &Api<AgentServiceConfig>,
        config: &AgentServiceConfig,
        pass: &Pass,
        imported: Option<Statement>,
    ) -> Result<(), kube::Error> {
        let now = Time(Timestamp::now());
        let show = |config: &mut AgentServiceConfig| {
            let status = config.status.get_or_insert_default();
            if let Some(immutable) = &pass.immutable {
                status.immutable_annotations.clone_from(immutable);
            }
            let conditions = &mut status.conditions;
            conditions::write(conditions, &pass.outcome, pass.health.as_ref(), pass.ephemeral, &now);
            if let Some(imported) = &imported {
                set(conditions, imported.clone(), &now);
            }
        };
        write::status(api, config, show).await.map(drop)
    }

    /// Tells what an annotation has switched.
    async fn tell_settings(&self, config: &AgentServiceConfig) {
        match annotation_of(config, annotation::UNRESTRICTED_PULLS) {
            "" => {}
            "true" => {
                let text = "images are pulled without looking at their signatures";
                self.publish_event(config, EventType::Normal, "ForceInsecurePolicyEnabled", text).await;
            }
            other => {
                let text = format!("{other:?} is not \"true\": images are pulled as policy.json says");
                self.publish_event(config, EventType::Warning, "ForceInsecurePolicyInvalidValue", &text)
                    .await;
            }
        }
        if !has_image_service(config) {
            let text = "an annotation disables the image service: there are no discovery images";
            self.publish_event(config, EventType::Normal, "ImageServiceDisabled", text).await;
        }
    }

    pub(super) async fn publish_event<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        r#type: EventType,
        reason: &str,
        text: &str,
    ) {
        let key = (format!("{}/{reason}", object.meta().uid.clone().unwrap_or_default()), text.to_owned());
        {
            let mut published = self.published.lock();
            if published.len() >= MOST_PUBLISHED {
                published.clear();
            }
            if !published.insert(key) {
                return;
            }
        }
        let event = Event {
            type_: r#type,
            reason: reason.to_owned(),
            note: Some(text.chars().take(1000).collect()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &object.object_ref(&())).await {
            tracing::warn!(%error, reason, "an event can't be published");
        }
    }
}

/// When the hub's own cluster is looked at again.
fn pause(imported: &Import) -> Option<Duration> {
    match imported.problem {
        Some(_) => Some(LOCAL_CLUSTER_AGAIN),
        None => (imported.condition.status == "True").then_some(LOCAL_CLUSTER),
    }
}

/// What an API server says, without what is meant for programs.
fn api_message(error: &apply::ApplyError) -> String {
    match error {
        apply::ApplyError::Api(error) => message(error),
        error => chain(error),
    }
}

pub(super) fn refuses(error: &apply::ApplyError) -> bool {
    matches!(error, apply::ApplyError::Api(error) if is_refused(error) || is_missing(error))
}

pub(super) fn failure(error: &kube::Error) -> Failure {
    Failure::passing(chain(error))
}
