//! One pass over a control plane: each part goes as far as it can, and what became of all of them stands in one status.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::cluster::{Cluster, Endpoint};
use assisted_crd::cluster_api::conditions::control_plane as says;
use assisted_crd::cluster_api::labels::{annotation, finalizer as names, label};
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_crd::condition::find;
use assisted_crd::config::cluster_version::ClusterVersion;
use assisted_kube::cache::get;
use assisted_kube::error::optional;
use assisted_kube::finalizer;
use assisted_kube::time::now;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::objects::after;
use assisted_reconcile::{Failure, MemoryRow, Outcome, Reconciler};
use assisted_wire::secret::Secret as Text;
use k8s_openapi::api::core::v1::{ConfigMap, LocalObjectReference, Secret};
use kube::{Api, ResourceExt};

use super::image_registry::{AUTHORITIES, REGISTRIES};
use super::installation::{self, Site};
use super::installer::Installation;
use super::provider::Provider;
use super::release::{Known, Question};
use super::report::{Report, SOON, is_true, was_initialized};
use super::scale::Stage;
use super::{class, kubeconfig, machines, removal, upgrade, version, workload};
use crate::objects::{failed, owner, paused};
use crate::pull_secret;

/// When what no watch tells of is looked for again.
const AGAIN: Duration = Duration::from_secs(300);
/// How often an upgrade is looked at.
const UPGRADE: Duration = Duration::from_secs(60);

/// Looks after OpenshiftAssistedControlPlanes.
pub(super) struct ControlPlaneReconciler {
    provider: Arc<Provider>,
}

impl Reconciler for ControlPlaneReconciler {
    type Row = MemoryRow<ObjectKey>;

    async fn reconcile(&self, row: &Self::Row) -> Result<Outcome, Failure> {
        let Some(plane) = get(&self.provider.management.cache.planes, &row.key) else {
            return Ok(Outcome::Done);
        };
        if finalizer::is_deleting(&plane.metadata) {
            return Box::pin(self.remove(&plane)).await;
        }
        // Without an owner it waits for one, which the object itself tells.
        let Some(cluster) = self.provider.management.cluster_of(&plane) else { return Ok(Outcome::Done) };
        let mut report = Report::default();
        if let Some(why) = paused(&*plane, &cluster) {
            report.say(says::PAUSED.with(&[&why]));
            self.show(&plane, &report).await?;
            return Ok(Outcome::Done);
        }
        report.say(says::NOT_PAUSED.with(&[]));
        report.say(says::NOT_DELETING.with(&[]));
        let plane = self.keep(&plane).await?;
        match class::resolved(&plane) {
            Ok(resolved) => Box::pin(self.advance(&resolved, &cluster, &mut report)).await,
            Err(why) => report.say(says::MACHINE_FAILED.with(&[&why])),
        }
        self.show(&plane, &report).await?;
        match report.failure {
            Some(failure) => Err(failure),
            None => Ok(after(report.again.unwrap_or(AGAIN))),
        }
    }
}

impl ControlPlaneReconciler {
    pub(super) fn new(provider: &Arc<Provider>) -> Self {
        Self { provider: Arc::clone(provider) }
    }

    /// Keeps the object until its machines and its cluster are gone.
    async fn keep(
        &self,
        plane: &OpenshiftAssistedControlPlane,
    ) -> Result<OpenshiftAssistedControlPlane, Failure> {
        let mut kept = plane.clone();
        finalizer::add(&mut kept.metadata, names::CONTROL_PLANE);
        let api = self.provider.management.api(&plane.namespace().unwrap_or_default());
        let written = write::object(&api, plane, &kept, Guard::Version).await;
        Ok(written.map_err(|error| failed(&error))?.unwrap_or(kept))
    }

    async fn show(&self, plane: &OpenshiftAssistedControlPlane, report: &Report) -> Result<(), Failure> {
        let show = |plane: &mut OpenshiftAssistedControlPlane| {
            plane.status = Some(report.status(plane, &now()));
        };
        let api = self.provider.management.api(&plane.namespace().unwrap_or_default());
        let written = optional(write::status(&api, plane, show).await);
        written.map(drop).map_err(|error| failed(&error))
    }

    async fn remove(&self, plane: &OpenshiftAssistedControlPlane) -> Result<Outcome, Failure> {
        if !finalizer::has(&plane.metadata, names::CONTROL_PLANE) {
            return Ok(Outcome::Done);
        }
        let mut report = Report::default();
        match removal::advance(&self.provider, plane, &mut report).await {
            Ok(true) => {
                removal::release(&self.provider, plane).await?;
                Ok(Outcome::Done)
            }
            Ok(false) => {
                self.show(plane, &report).await?;
                Ok(after(SOON))
            }
            // What holds it up is told: nothing else moves any more.
            Err(failure) => {
                if !failure.stale {
                    report.say(says::DELETING.with(&[&failure.message]));
                    self.show(plane, &report).await?;
                }
                Err(failure)
            }
        }
    }

    /// Everything, as far as it goes.
    async fn advance(&self, plane: &OpenshiftAssistedControlPlane, cluster: &Cluster, report: &mut Report) {
        let name = cluster.name_any();
        report.selector = Some(format!(
            "{}={name},{}={}",
            label::CLUSTER_NAME,
            label::CONTROL_PLANE_NAME,
            installation::label_value(&plane.name_any())
        ));
        if let Err(why) = version::check(&plane.spec.distribution_version) {
            report.say(says::MACHINE_FAILED.with(&[&why]));
            return;
        }
        let has_endpoint = cluster.spec.control_plane_endpoint.as_ref().is_some_and(Endpoint::is_set);
        if !cluster.has_infrastructure() || !has_endpoint {
            report.say(says::NOT_BEGUN.with(&[]));
            return;
        }
        let found = self.describe(plane, cluster, report).await;
        let installation = found.installation.as_ref();
        let state = installation.map(|known| known.state.clone()).unwrap_or_default();
        let kubeconfig = kubeconfig::settle(&self.provider, plane, cluster, installation, report).await;
        let is_available = available(plane, installation, report);
        let stage = Stage::of(&state, is_available);
        if let Some(kubeconfig) = &kubeconfig {
            self.ask(plane, cluster, kubeconfig, is_available, &found.known, report).await;
        }
        if !is_available {
            report.again(SOON.saturating_mul(3));
        }
        let settled = machines::settle(&self.provider, plane, cluster, stage, report).await;
        if let Err(failure) = settled {
            report.fail(failure);
        }
    }

    /// Describes the cluster to the installer.
    async fn describe(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        cluster: &Cluster,
        report: &mut Report,
    ) -> Described {
        let mut described = Described::default();
        match self.provider.installer.find(plane, cluster).await {
            Ok(known) => described.installation = known,
            // Without knowing what there is, nothing is described anew.
            Err(failure) => {
                self.refused(plane, &failure, report);
                report.fail(failure);
                return described;
            }
        }
        let state = described.installation.as_ref().map(|known| known.state.as_str()).unwrap_or_default();
        let has_begun = Stage::of(state, is_true(plane, "Available")) != Stage::Before;
        let described_now = async {
            let namespace = plane.namespace().unwrap_or_default();
            let config = plane.spec.config.as_ref();
            let secrets: Api<Secret> = self.provider.management.api(&namespace);
            let given = config.and_then(|config| config.pull_secret_ref.as_ref());
            let owners = [owner(plane, false)];
            let pull_secret = pull_secret::reference(&secrets, given, &plane.name_any(), &owners).await;
            let pull_secret = pull_secret.map_err(|error| failed(&error))?;
            let registries = config.and_then(|config| config.image_registry_ref.as_ref());
            let registries = self.registries(&namespace, registries).await?;
            let release = self.release(plane, &secrets, &pull_secret, registries.as_ref(), report).await;
            let image = release.as_ref().and_then(|release| release.image.as_ref().ok()).cloned();
            described.known = release;
            let site = Site {
                plane,
                cluster,
                pull_secret: &pull_secret,
                release: image.as_deref(),
                registries: registries.as_ref(),
                has_begun,
            };
            self.provider.installer.settle(&self.provider.management, &site).await
        };
        match described_now.await {
            Ok(installation) => {
                described.installation = installation;
                self.say_described(None, report);
            }
            Err(failure) => {
                if described.installation.is_none() {
                    self.refused(plane, &failure, report);
                } else {
                    self.say_described(Some(&failure), report);
                }
                report.fail(failure);
            }
        }
        described
    }

    /// Says why the installer does not know the cluster. What is available stays so.
    fn refused(&self, plane: &OpenshiftAssistedControlPlane, failure: &Failure, report: &mut Report) {
        if !failure.stale && !is_true(plane, "Available") {
            report.say(installation::refused(failure));
        }
        self.say_described(Some(failure), report);
    }

    /// Says whether a service alone has the cluster as it is wanted. A stale copy says nothing about that.
    fn say_described(&self, refusal: Option<&Failure>, report: &mut Report) {
        if self.provider.installer.is_service() && !refusal.is_some_and(|failure| failure.stale) {
            report.described(refusal);
        }
    }

    async fn registries(
        &self,
        namespace: &str,
        reference: Option<&LocalObjectReference>,
    ) -> Result<Option<ConfigMap>, Failure> {
        let Some(reference) = reference.filter(|reference| !reference.name.is_empty()) else {
            return Ok(None);
        };
        let found = self.provider.management.api::<ConfigMap>(namespace).get(&reference.name).await;
        found.map(Some).map_err(|error| {
            Failure::passing(format!("image registry configuration {}: {}", reference.name, chain(&error)))
        })
    }

    /// The release, and what is told of it.
    async fn release(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        secrets: &Api<Secret>,
        pull_secret: &LocalObjectReference,
        registries: Option<&ConfigMap>,
        report: &mut Report,
    ) -> Option<Known> {
        let architecture = plane.spec.openshift_assisted_config_spec.as_ref();
        let architecture = architecture.map(|spec| spec.cpu_architecture.as_str()).unwrap_or_default();
        let repository = plane.annotations().get(annotation::RELEASE_REPOSITORY).map(String::as_str);
        let image = version::image(&plane.spec.distribution_version, architecture, repository);
        let of = |member: &str| {
            let data = registries.and_then(|registries| registries.data.as_ref());
            data.and_then(|data| data.get(member)).cloned().unwrap_or_default()
        };
        let known = match credentials(secrets, &pull_secret.name).await {
            Ok((credentials, text)) => {
                let question =
                    Question { image, credentials, registries: of(REGISTRIES), authorities: of(AUTHORITIES) };
                self.provider.releases.find(&question, &text).await
            }
            Err(why) => {
                let image = Err(format!("failed to get pull secret for digest resolution: {why}"));
                Known { image, kubernetes: Err(why) }
            }
        };
        match &known.kubernetes {
            Ok(kubernetes) => {
                report.say(says::VERSION_AVAILABLE.with(&[]));
                // A cluster that runs another version has another one of Kubernetes, too.
                let status = plane.status.as_ref();
                let current = status.map(|status| status.distribution_version.as_str()).unwrap_or_default();
                if current.is_empty() || current == version::plain(&plane.spec.distribution_version) {
                    report.version = Some(class::version(plane, kubernetes));
                }
            }
            Err(why) => report.say(says::VERSION_UNAVAILABLE.with(&[why])),
        }
        if let Err(why) = known.image.as_ref().and(known.kubernetes.as_ref()) {
            report.fail(Failure::passing(why));
        }
        Some(known)
    }

    /// Asks the cluster itself: whether it answers, and which version it runs.
    async fn ask(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        cluster: &Cluster,
        kubeconfig: &Text,
        is_available: bool,
        known: &Option<Known>,
        report: &mut Report,
    ) {
        let key = assisted_kube::cache::key(plane);
        let asked = async {
            let client = self.provider.workloads.client(&key, kubeconfig).await?;
            if !was_initialized(plane) {
                workload::is_ready(&client).await?;
            }
            report.is_initialized = true;
            if is_available {
                if self.provider.installer.help_joining(cluster, &client).await? {
                    report.again(SOON);
                }
                self.upgrade(plane, client, known, report).await?;
            }
            Ok::<_, String>(())
        };
        if let Err(error) = asked.await {
            tracing::info!(control_plane = %key, error, "the cluster can't be asked yet");
            report.again(SOON);
        }
    }

    /// Has the cluster run the version that is wanted.
    async fn upgrade(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        client: kube::Client,
        known: &Option<Known>,
        report: &mut Report,
    ) -> Result<(), String> {
        let api: Api<ClusterVersion> = Api::all(client);
        let before = workload::limited(api.get("version")).await?;
        let image = known.as_ref().and_then(|known| known.image.as_ref().ok());
        let repository = plane.annotations().get(annotation::RELEASE_REPOSITORY).map(String::as_str);
        let wanted = upgrade::Wanted {
            version: &plane.spec.distribution_version,
            repository: repository.filter(|repository| !repository.is_empty()),
            image: image.map(String::as_str),
        };
        let conditions = plane.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let was_upgraded = find(conditions, "UpgradeCompleted").is_some();
        let upgrade_status = upgrade::assess(&before, &wanted, was_upgraded);
        report.distribution_version = Some(upgrade_status.current.unwrap_or_default());
        for statement in upgrade_status.statements {
            report.say(statement);
        }
        if let Some(update) = upgrade_status.update {
            let mut after = before.clone();
            after.spec.desired_update = Some(update);
            workload::limited(write::object(&api, &before, &after, Guard::Version)).await?;
        }
        if !upgrade_status.is_over {
            report.again(UPGRADE);
        }
        Ok(())
    }
}

/// What a pass knows of the cluster at the installer.
#[derive(Default)]
struct Described {
    installation: Option<Installation>,
    known: Option<Known>,
}

/// Whether the control plane takes requests: it does from the moment on at which the installation only waits for its operators, and
/// what has been available once is not called unavailable by the installer.
fn available(
    plane: &OpenshiftAssistedControlPlane,
    installation: Option<&Installation>,
    report: &mut Report,
) -> bool {
    let state = installation.map(|known| known.state.as_str()).unwrap_or_default();
    if is_true(plane, "Available") || ["finalizing", "installed", "adding-hosts"].contains(&state) {
        report.say(says::AVAILABLE.with(&[]));
        return true;
    }
    if let Some(known) = installation {
        report.say(match &known.problem {
            Some(problem) => says::NOT_DESCRIBED.with(&[problem]),
            None => says::INSTALLING.with(&[state]),
        });
    }
    false
}

/// The registry credentials in a Secret, and what tells them from others.
async fn credentials(secrets: &Api<Secret>, name: &str) -> Result<(String, Text), String> {
    let secret = secrets.get(name).await.map_err(|error| chain(&error))?;
    let version = format!("{name}@{}", secret.resource_version().unwrap_or_default());
    let value = secret.data.as_ref().and_then(|data| data.get(pull_secret::KEY));
    let value = value.ok_or_else(|| format!("pullsecret secret does not have key {}", pull_secret::KEY))?;
    let text = String::from_utf8(value.0.clone()).map_err(|_| "the pull secret is no text".to_owned())?;
    Ok((version, Text::from(text)))
}
