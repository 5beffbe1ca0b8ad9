//! Agents (kube-api §6.4): a host that registers gets one, what it wants comes to the host, and it shows what became of the host.

mod binding;
mod inventory;
mod leaving;
mod moving;
mod object;
mod spec;
mod status;

use std::sync::Arc;
use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::agent::{Agent, AgentStatus};
use assisted_crd::agent_install::conditions::agent::CLEANUP_CLEANUP_FAILED;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::condition::set;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_kube::error::is_conflict;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome, Reconciler};
use assisted_service::TokenResource;
use assisted_service::host::LostHost;
use assisted_service::object::DescribedHost;
use assisted_wire::host::HostStatus;
use assisted_wire::host_params::{
    BindHostParams, FencingCredentialsParams, HostIgnitionParams, InstallerArgsParams,
};
use assisted_wire::id::ClusterId;
use assisted_wire::inventory::Inventory;
use assisted_wire::operation::BASE_PATH;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::PostParams;

use super::cache::get;
use super::cluster::link;
use super::hub::{Hub, after, failed, now, service_failure};
use super::queues::{Row, mark};
use super::relations::bound_to;
use super::spoke::is_followed;
use crate::SyncError;
use crate::objects::secret_value;
use crate::sync_error::Class;
use binding::Step;

pub(super) use leaving::hostname;

/// When what is in the way, and may go away by itself, is looked at again (kube-api §12).
const AGAIN: Duration = Duration::from_secs(10);
/// When a host whose row was made anew is looked at again.
const RESTORED: Duration = Duration::from_secs(60);

/// Brings hosts to what their Agents say.
pub(super) struct AgentReconciler {
    hub: Hub,
}

impl AgentReconciler {
    pub(super) fn new(hub: &Hub) -> Self {
        Self { hub: Hub::clone(hub) }
    }
}

impl Reconciler for AgentReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let host = self.newest(&row.key).await?;
        let agent = get(&self.hub.cache.agents, &row.key);
        match (agent, host) {
            (None, None) => Ok(Outcome::Done),
            (None, Some(host)) => self.create(host).await,
            (Some(agent), host) if finalizer::is_deleting(&agent.metadata) => self.remove(&agent, host).await,
            (Some(agent), _) if !finalizer::has(&agent.metadata, names::AGENT) => self.keep(&agent).await,
            (Some(agent), None) => Box::pin(self.restore(&row.key, &agent)).await,
            (Some(agent), Some(host)) => Box::pin(self.show(&row.key, &agent, host)).await,
        }
    }
}

impl AgentReconciler {
    /// A host that registered gets an Agent as soon as its InfraEnv is known.
    async fn create(&self, key: HostKey) -> Result<Outcome, Failure> {
        let described =
            self.hub.service.hosts().described(key).await.map_err(|error| service_failure(&error))?;
        let Some(described) = described else { return Ok(Outcome::Done) };
        let Some(infra_env) = get(&self.hub.cache.infra_envs, &described.infra_env) else {
            return Ok(Outcome::Wait { reason: format!("InfraEnv {} is not there", described.infra_env) });
        };
        if finalizer::is_deleting(&infra_env.metadata) {
            return Ok(Outcome::Done);
        }
        let cluster = described.cluster.as_ref().and_then(|(_, object)| object.as_ref());
        let agent = object::new(key.host_id, &infra_env, cluster);
        let api = self.hub.api::<Agent>(&described.infra_env.namespace);
        match api.create(&PostParams::default(), &agent).await {
            Ok(_) => Ok(Outcome::Done),
            // The watch is about to tell of it.
            Err(error) if is_conflict(&error) => Ok(Outcome::Done),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Keeps the object until its host is gone; nothing else is done in this pass.
    async fn keep(&self, agent: &Agent) -> Result<Outcome, Failure> {
        let mut kept = agent.clone();
        finalizer::add(&mut kept.metadata, names::AGENT);
        self.write(agent, &kept).await?;
        Ok(Outcome::Done)
    }

    /// The host goes, and then the object.
    async fn remove(&self, agent: &Agent, host: Option<HostKey>) -> Result<Outcome, Failure> {
        if !finalizer::has(&agent.metadata, names::AGENT) {
            return Ok(Outcome::Done);
        }
        let removed = async {
            self.leave_for_good(agent).await.map_err(|problem| problem.text)?;
            let Some(host) = host else { return Ok(()) };
            let gone = self.hub.service.hosts().deregister(&self.hub.caller(), host).await;
            gone.map_err(|error| format!("failed to deregister host: {}: {error}", agent.name_any()))
        };
        if let Err(text) = removed.await {
            let tell = |status: &mut AgentStatus| {
                set(&mut status.conditions, CLEANUP_CLEANUP_FAILED.with(&[&text]), &now());
            };
            self.change_status(agent, tell).await?;
            return Err(Failure::passing(text));
        }
        let mut released = agent.clone();
        finalizer::remove(&mut released.metadata, names::AGENT);
        self.write(agent, &released).await?;
        Ok(Outcome::Done)
    }

    async fn write(&self, before: &Agent, after: &Agent) -> Result<Option<Agent>, Failure> {
        let api = self.hub.api(&before.namespace().unwrap_or_default());
        write::object(&api, before, after, Guard::Version).await.map_err(|error| failed(&error))
    }

    /// The InfraEnv of an Agent.
    fn infra_env(&self, agent: &Agent) -> Option<(ObjectKey, Option<Arc<InfraEnv>>)> {
        let owners = agent.owner_references().iter().find(|owner| owner.kind == "InfraEnv");
        let name = agent.labels().get(label::INFRA_ENV).or(owners.map(|owner| &owner.name))?;
        let key = ObjectKey::new(agent.namespace().unwrap_or_default(), name);
        let found = get(&self.hub.cache.infra_envs, &key);
        Some((key, found))
    }

    /// A host whose row is lost is made anew from what the object has kept, unless its InfraEnv goes and takes its hosts along.
    async fn restore(&self, key: &ObjectKey, agent: &Agent) -> Result<Outcome, Failure> {
        if let Some((_, Some(infra_env))) = self.infra_env(agent)
            && finalizer::is_deleting(&infra_env.metadata)
        {
            return Ok(Outcome::Done);
        }
        let restored = Box::pin(self.try_restore(key, agent)).await;
        let (problem, pause) = match restored {
            Ok(()) => (None, RESTORED),
            Err(problem) => (Some(problem), AGAIN),
        };
        if problem.is_some() {
            let seen = status::Observed {
                host: None,
                inventory: None,
                approved: agent.spec.approved,
                problem: problem.as_ref(),
                events_url: None,
                logs_url: None,
            };
            self.write_status(agent, &seen).await?;
        }
        if problem.is_some_and(|problem| problem.class == Class::Input) {
            return Ok(Outcome::Done);
        }
        Ok(after(pause))
    }

    async fn try_restore(&self, key: &ObjectKey, agent: &Agent) -> Result<(), SyncError> {
        let Ok(host_id) = key.name.parse() else {
            return Err(SyncError::input(
                "the name of an Agent is the id of its host, and this one is no id",
            ));
        };
        let told = |error: assisted_service::Error| SyncError::from(&error);
        let Some((infra_env, _)) = self.infra_env(agent) else {
            return Err(SyncError::backend("Missing InfraEnv name label"));
        };
        let found = self.hub.service.infra_envs().of_object(&infra_env).await.map_err(told)?;
        let found =
            found.ok_or_else(|| SyncError::backend(format!("InfraEnv {infra_env} has no infra-env yet")))?;
        let cluster_id = self.cluster(agent).await?.map(|(id, _)| id);
        let kept = |name: &str| agent.annotations().get(name).map(String::as_str).unwrap_or_default();
        let unknown = if cluster_id.is_some() { HostStatus::Known } else { HostStatus::KnownUnbound };
        let registered_at = agent.creation_timestamp().map_or_else(Timestamp::now, |at| at.0);
        let lost = LostHost {
            cluster_id,
            status: kept(annotation::AGENT_STATE).parse().unwrap_or(unknown),
            role: kept(annotation::AGENT_ROLE).parse().ok(),
            stage: kept(annotation::AGENT_CURRENT_STAGE).parse().ok(),
            registered_at,
            inventory: kept(annotation::AGENT_INVENTORY).to_owned(),
            validations_info: kept(annotation::AGENT_VALIDATIONS_INFO).to_owned(),
        };
        let key = HostKey { infra_env_id: found.infra_env.id, host_id };
        Box::pin(self.hub.service.hosts().restore(&self.hub.caller(), key, &lost)).await.map_err(told)
    }

    /// The cluster that the Agent is to be in, if it is to be in one.
    async fn cluster(&self, agent: &Agent) -> Result<Option<(ClusterId, ObjectKey)>, SyncError> {
        let Some(key) = bound_to(agent) else { return Ok(None) };
        let ObjectKey { namespace, name } = &key;
        if get(&self.hub.cache.cluster_deployments, &key).is_none() {
            return Err(SyncError::backend(format!(
                "failed to get clusterDeployment with name {name} in namespace {namespace}: it is not there"
            )));
        }
        let found =
            self.hub.service.clusters().of_object(&key).await.map_err(|error| SyncError::from(&error))?;
        let missing = || {
            SyncError::backend(format!(
                "failed to find cluster of clusterDeployment {name} in namespace {namespace}: it is not registered"
            ))
        };
        let id = found.ok_or_else(missing)?.cluster.id;
        Ok(Some((id, key)))
    }

    /// Brings the host to what the object says, and shows what became of it.
    async fn show(&self, key: &ObjectKey, agent: &Agent, host: HostKey) -> Result<Outcome, Failure> {
        let Some(described) = self.described(host).await? else { return Ok(Outcome::Done) };
        if moving::has_moved(agent, &described.infra_env) {
            return Box::pin(self.start_over(agent, &described)).await;
        }
        let infra_env = get(&self.hub.cache.infra_envs, &described.infra_env);
        let known = read(&described);
        let dressed = object::dressed(agent, infra_env.as_deref(), &described.host, known.as_ref());
        let agent = self.write(agent, &dressed).await?.unwrap_or(dressed);
        let (agent, problem) = match self.clean_up(agent, &described).await? {
            (agent, None) => Box::pin(self.converge(key, agent, host, &described, known.as_ref())).await?,
            left => left,
        };
        // As it is now, whatever was changed.
        let Some(described) = self.described(host).await? else { return Ok(Outcome::Done) };
        let passing = problem.as_ref().is_some_and(|problem| problem.class == Class::Backend);
        if self.hub.synced.record(&agent, problem.is_none())
            && let Some(cluster) = bound_to(&agent)
        {
            mark(&self.hub.queues.clusters, cluster);
        }
        // What stands in the way in the cluster that it joins is tried again by a queue of its own.
        let problem = problem.or_else(|| {
            let cluster = bound_to(&agent).filter(|_| is_followed(&described.host))?;
            self.hub.spokes.problem(&cluster)
        });
        let links = self.links(&described).await?;
        let seen = status::Observed {
            host: Some(&described.host),
            inventory: known.as_ref(),
            approved: agent.spec.approved,
            problem: problem.as_ref(),
            events_url: links.as_ref().map(|(events, _)| events.as_str()),
            logs_url: links.as_ref().and_then(|(_, logs)| logs.as_deref()),
        };
        self.write_status(&agent, &seen).await?;
        Ok(if passing { after(AGAIN) } else { Outcome::Done })
    }

    async fn described(&self, host: HostKey) -> Result<Option<DescribedHost>, Failure> {
        self.hub.service.hosts().described(host).await.map_err(|error| service_failure(&error))
    }

    async fn write_status(&self, agent: &Agent, seen: &status::Observed<'_>) -> Result<(), Failure> {
        let show = |status: &mut AgentStatus| *status = status::status(Some(status), seen, &now());
        self.change_status(agent, show).await.map(drop)
    }

    /// Writes what differs in the status; the Agent as it is then.
    async fn change_status(
        &self,
        agent: &Agent,
        change: impl Fn(&mut AgentStatus),
    ) -> Result<Agent, Failure> {
        let api = self.hub.api(&agent.namespace().unwrap_or_default());
        let change = |agent: &mut Agent| change(agent.status.get_or_insert_default());
        write::status(&api, agent, change).await.map_err(|error| failed(&error))
    }

    /// Where events and logs of a host of a cluster are found (kube-api §8).
    async fn links(&self, described: &DescribedHost) -> Result<Option<(String, Option<String>)>, Failure> {
        let Some((cluster, _)) = &described.cluster else { return Ok(None) };
        let access = self.hub.service.access();
        let host = &described.host;
        let base = self.hub.service.settings().http.service_base_url.trim_end_matches('/').to_owned();
        let infra_env_id = host.infra_env_id.unwrap_or_default();
        let token = access
            .token(TokenResource::InfraEnv(infra_env_id))
            .await
            .map_err(|error| service_failure(&error))?;
        let events = link(&format!("{base}{BASE_PATH}/v2/events?host_id={}", host.id), token.as_deref());
        let logs = if host.logs_collected_at.is_zero() {
            None
        } else {
            let token = access
                .token(TokenResource::Cluster(cluster.id))
                .await
                .map_err(|error| service_failure(&error))?;
            let url = format!(
                "{base}{BASE_PATH}/v2/clusters/{}/logs?host_id={}&logs_type=host",
                cluster.id, host.id
            );
            Some(link(&url, token.as_deref()))
        };
        Ok(Some((events, logs)))
    }

    /// Binds and unbinds the host, and brings to it what differs: the Agent as it is then, and what stands in the way.
    async fn converge(
        &self,
        key: &ObjectKey,
        agent: Agent,
        host: HostKey,
        described: &DescribedHost,
        known: Option<&Inventory>,
    ) -> Result<(Agent, Option<SyncError>), Failure> {
        let wanted = self.cluster(&agent).await.map(|found| found.map(|(id, _)| id));
        let converged = match wanted.and_then(|wanted| binding::step(&described.host, wanted)) {
            Ok(Step::Stay) => Box::pin(self.sync(key, &agent, host, described, known)).await,
            Ok(Step::Bind(cluster_id)) => {
                let params = BindHostParams { cluster_id };
                let bound = self.hub.service.hosts().bind(&self.hub.caller(), host, params).await;
                bound.map(drop).map_err(|error| SyncError::from(&error))
            }
            Ok(Step::Unbind) => return Box::pin(self.unbind(agent, host, described)).await,
            Err(problem) => Err(problem),
        };
        Ok((agent, converged.err()))
    }

    /// Brings to the host what differs.
    async fn sync(
        &self,
        key: &ObjectKey,
        agent: &Agent,
        host: HostKey,
        described: &DescribedHost,
        known: Option<&Inventory>,
    ) -> Result<(), SyncError> {
        let (rooms, caller) = (self.hub.service.hosts(), self.hub.caller());
        let told = |error: assisted_service::Error| SyncError::from(&error);
        let referred = self.referred(key, agent).await?;
        let difference = spec::difference(&agent.spec, described, known, &referred)?;
        if let Some(args) = difference.installer_args {
            let params = InstallerArgsParams { args: Some(args) };
            rooms.update_installer_args(&caller, host, params).await.map_err(told)?;
        }
        if let Some(config) = difference.ignition {
            rooms.update_ignition(&caller, host, HostIgnitionParams { config }).await.map_err(told)?;
        }
        if let Some(params) = difference.params {
            rooms.update(&caller, host, params).await.map_err(told)?;
        }
        // Whatever the state of the host, and after what was written with the approval.
        if agent.spec.approved != described.approved {
            rooms.approve(&caller, host, agent.spec.approved).await.map_err(told)?;
        }
        Ok(())
    }

    async fn referred(&self, key: &ObjectKey, agent: &Agent) -> Result<spec::Referred, SyncError> {
        let mut referred = spec::Referred::default();
        if let Some(reference) = &agent.spec.ignition_endpoint_token_reference {
            let secret = ObjectKey::new(&reference.namespace, &reference.name);
            let found = self.secret(&secret, "Failed to get user-data secret").await?;
            let token = secret_value(&found, "ignition-token").ok_or_else(|| {
                SyncError::backend(format!("secret {} did not contain key ignition-token", secret.name))
            })?;
            referred.token = token.into();
        }
        let name = &agent.spec.fencing_credentials_secret_ref;
        if !name.is_empty() {
            let secret = ObjectKey::new(&key.namespace, name);
            let found = self.secret(&secret, "Failed to get fencing credentials secret").await?;
            let value = |key: &str| secret_value(&found, key);
            let verification = value("certificateVerification").filter(|text| !text.is_empty());
            let verification = verification.map(|text| text.parse()).transpose().map_err(|error| {
                SyncError::input(format!("secret {name}, certificateVerification: {error}"))
            })?;
            referred.fencing = Some(FencingCredentialsParams {
                address: value("address").unwrap_or_default(),
                username: value("username").unwrap_or_default(),
                password: value("password").unwrap_or_default().into(),
                certificate_verification: verification,
                mac_address: None,
            });
        }
        Ok(referred)
    }

    async fn secret(
        &self,
        key: &ObjectKey,
        what: &str,
    ) -> Result<k8s_openapi::api::core::v1::Secret, SyncError> {
        let found = self.hub.secret(key).await;
        let found = found.map_err(|error| {
            SyncError::backend(format!("{what}: {}", assisted_base::error::chain(&error)))
        })?;
        found.ok_or_else(|| SyncError::backend(format!("{what}: there is no secret {key}")))
    }
}

/// What the host told of its hardware.
fn read(described: &DescribedHost) -> Option<Inventory> {
    let text = &described.host.inventory;
    if text.is_empty() {
        return None;
    }
    serde_json::from_str(text).ok()
}
