//! Brings a machine to what it boots with, and shows in its config how far that is.

use std::sync::Arc;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::conditions::config as says;
use assisted_crd::cluster_api::labels::{SECRET_TYPE, annotation, finalizer as names, label};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_kube::cache::get;
use assisted_kube::error::{is_conflict, optional};
use assisted_kube::finalizer;
use assisted_kube::time::now;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::objects::after;
use assisted_reconcile::{Failure, MemoryRow, Outcome, Reconciler};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::PostParams;

use super::decide::{self, BootMethod};
use super::pass::{AGAIN, Next, Obstacle, SOON, Work};
use super::provider::{Provider, machine_owner};
use super::status::{Shown, is_created, status};
use super::{hosts, live_iso};
use crate::installer::{self, InfraEnvWanted, Installer, Subject};
use crate::node::{self, Metadata};
use crate::objects::{failed, owner, paused};

/// Looks after OpenshiftAssistedConfigs.
pub(super) struct ConfigReconciler<I> {
    provider: Arc<Provider<I>>,
}

impl<I: Installer> Reconciler for ConfigReconciler<I> {
    type Row = MemoryRow<ObjectKey>;

    async fn reconcile(&self, row: &Self::Row) -> Result<Outcome, Failure> {
        let Some(config) = get(&self.provider.cache.configs, &row.key) else { return Ok(Outcome::Done) };
        let machine = self.provider.machine_of(&config);
        if finalizer::is_deleting(&config.metadata) {
            return self.remove(&row.key, &config, machine.as_deref()).await;
        }
        // Without an owner it waits for one; an owner of another kind is no affair of this provider.
        let Some(machine) = machine else { return Ok(Outcome::Done) };
        let Some(cluster) = self.provider.cluster_of(&machine) else { return Ok(Outcome::Done) };
        if let Some(why) = paused(&*config, &cluster) {
            self.show(&config, Shown { paused: Some(why), ..Shown::default() }).await?;
            return Ok(Outcome::Done);
        }
        if finalizer::is_deleting(&machine.metadata) {
            return Ok(Outcome::Done);
        }
        let config = self.keep(&row.key, &config).await?;
        let method = match BootMethod::of(&config) {
            Ok(method) => method,
            Err(why) => return self.stand(&config, Obstacle::invalid(&why)).await,
        };
        if !cluster.has_infrastructure() {
            let waiting = Obstacle::waiting(says::WAITING_FOR_INFRASTRUCTURE.with(&[]), AGAIN);
            return self.stand(&config, waiting).await;
        }
        let work = Work { key: &row.key, config: &config, machine: &machine, method };
        Box::pin(self.advance(&work, &Subject::of(&*cluster))).await
    }
}

impl<I: Installer> ConfigReconciler<I> {
    pub(super) fn new(provider: &Arc<Provider<I>>) -> Self {
        Self { provider: Arc::clone(provider) }
    }

    /// Keeps the object until its infra-env, or its host, is gone.
    async fn keep(
        &self,
        key: &ObjectKey,
        config: &OpenshiftAssistedConfig,
    ) -> Result<OpenshiftAssistedConfig, Failure> {
        let mut kept = config.clone();
        finalizer::add(&mut kept.metadata, names::CONFIG);
        let written = write::object(&self.provider.api(&key.namespace), config, &kept, Guard::Version).await;
        Ok(written.map_err(|error| failed(&error))?.unwrap_or(kept))
    }

    /// The infra-env goes, or the host of a shared one, and then the object. That of a control plane machine stays as long as its machine does.
    async fn remove(
        &self,
        key: &ObjectKey,
        config: &OpenshiftAssistedConfig,
        machine: Option<&Machine>,
    ) -> Result<Outcome, Failure> {
        if !finalizer::has(&config.metadata, names::CONFIG) {
            return Ok(Outcome::Done);
        }
        let is_wanted = machine.is_some_and(|machine| !finalizer::is_deleting(&machine.metadata));
        if is_wanted && config.labels().contains_key(label::CONTROL_PLANE) {
            return Err(Failure::passing(
                "agent bootstrap config belongs to control plane that's not being deleted",
            ));
        }
        let removed = match (BootMethod::of(config), machine_owner(config)) {
            (Ok(BootMethod::DiskImage), Some(owner)) => {
                let infra_env = of_machine(config, &owner.name);
                self.provider.installer.remove_infra_env(&infra_env).await
            }
            // An infra-env that others share goes with its template.
            (Ok(BootMethod::LiveIso), _) => hosts::release(&self.provider, config).await,
            _ => Ok(true),
        };
        match removed {
            Ok(true) => {}
            Ok(false) => return Ok(after(SOON)),
            Err(failure) => {
                let obstacle = Obstacle::failed(says::WAITING_FOR_INSTALLER, failure);
                return self.stand(config, obstacle).await;
            }
        }
        let mut released = config.clone();
        finalizer::remove(&mut released.metadata, names::CONFIG);
        let api = self.provider.api(&key.namespace);
        write::object(&api, config, &released, Guard::Version).await.map_err(|error| failed(&error))?;
        Ok(Outcome::Done)
    }

    /// Shows what stands in the way.
    async fn stand(&self, config: &OpenshiftAssistedConfig, obstacle: Obstacle) -> Result<Outcome, Failure> {
        let generation = match &obstacle.next {
            Next::Wait(_) => config.metadata.generation,
            Next::Retry(_) => None,
        };
        self.show(config, Shown { data: Some(obstacle.statement), generation, ..Shown::default() }).await?;
        match obstacle.next {
            Next::Wait(pause) => Ok(after(pause)),
            Next::Retry(failure) => Err(failure),
        }
    }

    async fn show(&self, config: &OpenshiftAssistedConfig, shown: Shown) -> Result<(), Failure> {
        let show = |config: &mut OpenshiftAssistedConfig| {
            config.status = Some(status(config.status.as_ref(), &shown, config.metadata.generation, &now()));
        };
        let api = self.provider.api(&config.namespace().unwrap_or_default());
        write::status(&api, config, show).await.map(drop).map_err(|error| failed(&error))
    }

    /// Infra-env, bootstrap data, host: as far as it goes.
    async fn advance(&self, work: &Work<'_>, cluster: &Subject) -> Result<Outcome, Failure> {
        let infra_env = match self.boot(work, cluster).await {
            Ok(infra_env) => infra_env,
            Err(obstacle) => return self.stand(work.config, obstacle).await,
        };
        let created = Shown {
            data: Some(says::DATA_SECRET_AVAILABLE.with(&[])),
            secret: Some(work.key.name.clone()),
            generation: work.config.metadata.generation,
            ..Shown::default()
        };
        match hosts::settle(&self.provider, work, &infra_env).await {
            Ok(host) => {
                let is_settled = host.status == "True";
                self.show(work.config, Shown { host: Some(host), ..created }).await?;
                // Which machine is which host is told by objects that nobody watches here.
                let is_shared = work.method == BootMethod::LiveIso;
                Ok(if is_shared && !is_settled { after(SOON) } else { Outcome::Done })
            }
            Err(obstacle) => {
                self.show(work.config, Shown { host: Some(obstacle.statement), ..created }).await?;
                match obstacle.next {
                    Next::Wait(pause) => Ok(after(pause)),
                    Next::Retry(failure) => Err(failure),
                }
            }
        }
    }

    /// Brings the bootstrap data to be there; the infra-env that the machine boots then.
    async fn boot(&self, work: &Work<'_>, cluster: &Subject) -> Result<Subject, Obstacle> {
        let Work { key, config, machine, method } = work;
        let installer = &self.provider.installer;
        let found = installer.cluster(cluster).await;
        let found = found.map_err(|failure| Obstacle::failed(says::WAITING_FOR_INSTALLER, failure))?;
        let Some(found) = found else {
            let what = "The cluster is not known to the installer yet";
            return Err(Obstacle::waiting(says::WAITING_FOR_INSTALLER.with(&[what]), AGAIN));
        };
        let template = match method {
            BootMethod::DiskImage => None,
            BootMethod::LiveIso => Some(live_iso::Template::of(&self.provider, machine).await?),
        };
        let infra_env = match &template {
            None => of_machine(config, &machine.name_any()),
            Some(template) => template.subject(),
        };
        let secret = optional(self.provider.api::<Secret>(&key.namespace).get(&key.name).await);
        let secret =
            secret.map_err(|error| Obstacle::failed(says::CREATING_SECRET_FAILED, failed(&error)))?;
        let is_booted = secret.is_some() && is_created(config.status.as_ref());
        if !is_booted && decide::is_held(machine, &found.state) {
            return Err(Obstacle::waiting(says::WAITING_FOR_INSTALLATION.with(&[&found.state]), AGAIN));
        }
        let owners = match &template {
            None => vec![owner(*config, false), owner(*machine, false)],
            Some(template) => vec![template.owner()],
        };
        let wanted = InfraEnvWanted {
            subject: &infra_env,
            spec: &config.spec,
            of: cluster,
            config: &key.name,
            cluster: &found,
            owners,
            ignition_override: config
                .annotations()
                .get(annotation::DISCOVERY_IGNITION_OVERRIDE)
                .map(String::as_str),
        };
        let shown = installer.infra_env(&wanted).await;
        let shown = shown.map_err(|failure| Obstacle::failed(says::INFRA_ENV_FAILED, failure))?;
        if is_booted {
            return Ok(infra_env);
        }
        let data = match &template {
            None => self.user_data(work, &shown).await?,
            // The ISO has everything in it.
            Some(template) => {
                template.boot(&self.provider, &shown).await?;
                Vec::new()
            }
        };
        if secret.is_none() {
            let secret = bootstrap_data(config, &cluster.key.name, data);
            let api = self.provider.api::<Secret>(&key.namespace);
            if let Err(error) = api.create(&PostParams::default(), &secret).await
                && !is_conflict(&error)
            {
                return Err(Obstacle::failed(says::CREATING_SECRET_FAILED, failed(&error)));
            }
        }
        Ok(infra_env)
    }

    /// The Ignition config of the discovery, with the name of the host.
    async fn user_data(&self, work: &Work<'_>, infra_env: &installer::InfraEnv) -> Result<Vec<u8>, Obstacle> {
        if infra_env.ignition_url.is_none() {
            let problem = infra_env.problem.as_deref().unwrap_or("infraenv not ready");
            return Err(Obstacle::waiting(says::WAITING_FOR_INFRA_ENV.with(&[problem]), AGAIN));
        }
        let base = self.provider.installer.ignition(infra_env).await.map_err(|failure| {
            let message = format!("failed retrieving ignition: {}", failure.message);
            Obstacle::failed(says::WAITING_FOR_INSTALLER, Failure { message, ..failure })
        })?;
        node::discovery(&work.config.spec, Metadata::ConfigDrive, base)
            .map_err(|error| Obstacle::invalid(&error.to_string()))
    }
}

/// What the infra-env of one machine is for: it has the machine's name, and goes with the config.
fn of_machine(config: &OpenshiftAssistedConfig, machine: &str) -> Subject {
    Subject { key: ObjectKey::new(config.namespace().unwrap_or_default(), machine), ..Subject::of(config) }
}

/// The Secret that Cluster API hands to the infrastructure.
fn bootstrap_data(config: &OpenshiftAssistedConfig, cluster: &str, data: Vec<u8>) -> Secret {
    let mut secret = Secret {
        type_: Some(SECRET_TYPE.to_owned()),
        data: Some(
            [("value".to_owned(), ByteString(data)), ("format".to_owned(), ByteString(b"ignition".to_vec()))]
                .into(),
        ),
        ..Secret::default()
    };
    secret.metadata.name = Some(config.name_any());
    secret.metadata.labels = Some([(label::CLUSTER_NAME.to_owned(), cluster.to_owned())].into());
    secret.metadata.owner_references = Some(vec![owner(config, true)]);
    secret
}
