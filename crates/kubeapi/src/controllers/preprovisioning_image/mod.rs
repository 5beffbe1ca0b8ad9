//! PreprovisioningImages (kube-api §6.7): the image by which metal3 inspects and cleans a machine, and has it installed, is that of
//! the machine's InfraEnv with the agent of Ironic in it.
//!
//! What is decided stands in [`decide`] and [`ironic`], apart from what talks to servers. The network of a machine comes with the
//! image, from NMStateConfigs: an object that names a Secret instead is refused.

mod decide;
mod ironic;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
use assisted_kube::finalizer;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::{Failure, Outcome, Reconciler};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::cache::get;
use super::hub::{Hub, failed, now};
use super::queues::Row;
use crate::SyncError;
use decide::{Obstacle, Shown};
use ironic::Ironic;

/// What asks metal3 to restart a machine at once.
const RESTART: &str = r#"{"force": true}"#;
/// The state of a machine that runs what was installed.
const PROVISIONED: &str = "provisioned";

/// Shows metal3 the images of machines.
pub(super) struct PreprovisioningImageReconciler {
    hub: Hub,
    ironic: Ironic,
    /// How long an image rests before machines boot it.
    cool_down: SignedDuration,
}

impl PreprovisioningImageReconciler {
    pub(super) fn new(hub: &Hub, cool_down: SignedDuration) -> Self {
        Self { hub: Hub::clone(hub), ironic: Ironic::default(), cool_down }
    }
}

impl Reconciler for PreprovisioningImageReconciler {
    type Row = Row;

    async fn reconcile(&self, row: &Row) -> Result<Outcome, Failure> {
        let Some(object) = get(&self.hub.cache.preprovisioning_images, &row.key) else {
            return Ok(Outcome::Done);
        };
        if finalizer::is_deleting(&object.metadata) {
            return self.release(&row.key, &object).await;
        }
        if !finalizer::has(&object.metadata, names::PREPROVISIONING_IMAGE) {
            return self.keep(&row.key, &object).await;
        }
        let infra_env = object
            .labels()
            .get(label::INFRA_ENV)
            .and_then(|name| get(&self.hub.cache.infra_envs, &ObjectKey::new(&row.key.namespace, name)))
            .filter(|infra_env| !finalizer::is_deleting(&infra_env.metadata));
        match self.image(&object, infra_env.as_deref()).await {
            Ok(image) => {
                let object = self.give(&row.key, &object, &image).await?;
                self.show(&row.key, &object, &Shown::Image(image)).await?;
                Ok(Outcome::Done)
            }
            // The change of the InfraEnv that follows leads here again.
            Err(Obstacle::Changed) => Ok(Outcome::Done),
            Err(obstacle) => {
                self.show(&row.key, &object, &Shown::Obstacle(&obstacle)).await?;
                match &obstacle {
                    Obstacle::Rests { until } => Ok(Outcome::After(*until)),
                    Obstacle::Ironic(problem) => Err(Failure::passing(&problem.text)),
                    _ => Ok(Outcome::Done),
                }
            }
        }
    }
}

impl PreprovisioningImageReconciler {
    /// Keeps the object until its machine needs it no more; no backup takes it along. Nothing else is done in this pass.
    async fn keep(&self, key: &ObjectKey, object: &PreprovisioningImage) -> Result<Outcome, Failure> {
        let mut kept = object.clone();
        finalizer::add(&mut kept.metadata, names::PREPROVISIONING_IMAGE);
        let labels = kept.metadata.labels.get_or_insert_default();
        labels.insert(label::EXCLUDE_FROM_BACKUP.to_owned(), "true".to_owned());
        let api = self.hub.api(&key.namespace);
        write::object(&api, object, &kept, Guard::Version).await.map_err(|error| failed(&error))?;
        Ok(Outcome::Done)
    }

    /// Lets the object go, unless metal3 is to clean its machine with it.
    async fn release(&self, key: &ObjectKey, object: &PreprovisioningImage) -> Result<Outcome, Failure> {
        if !finalizer::has(&object.metadata, names::PREPROVISIONING_IMAGE) {
            return Ok(Outcome::Done);
        }
        let owner = object.owner_references().iter().find(|owner| owner.kind == "BareMetalHost");
        let machine = owner.and_then(|owner| {
            get(&self.hub.cache.bare_metal_hosts, &ObjectKey::new(&key.namespace, &owner.name))
        });
        if let Some(machine) = machine.filter(|machine| decide::is_needed_by(machine)) {
            // Each change of the machine leads here again.
            let reason = format!("metal3 has not cleaned BareMetalHost {} yet", machine.name_any());
            return Ok(Outcome::Wait { reason });
        }
        let mut released = object.clone();
        finalizer::remove(&mut released.metadata, names::PREPROVISIONING_IMAGE);
        let api = self.hub.api(&key.namespace);
        write::object(&api, object, &released, Guard::Version).await.map_err(|error| failed(&error))?;
        Ok(Outcome::Done)
    }

    /// The image for the machine, or why there is none.
    async fn image(
        &self,
        object: &PreprovisioningImage,
        infra_env: Option<&InfraEnv>,
    ) -> Result<decide::Image, Obstacle> {
        let (infra_env, format) = decide::fits(object, infra_env)?;
        if self.add_ironic(infra_env).await.map_err(Obstacle::Ironic)? {
            return Err(Obstacle::Changed);
        }
        decide::image(infra_env, format, self.cool_down, Timestamp::now())
    }

    /// Has the agent of Ironic in the image of an InfraEnv; whether that changed anything.
    async fn add_ironic(&self, object: &InfraEnv) -> Result<bool, SyncError> {
        let key = super::cache::key(object);
        let told = |error: assisted_service::Error| SyncError::from(&error);
        let rooms = self.hub.service.infra_envs();
        let known = rooms.of_object(&key).await.map_err(told)?;
        let known =
            known.ok_or_else(|| SyncError::backend(format!("InfraEnv {key} has no infra-env yet")))?;
        let config = self.ironic.config(&self.hub, object, &known).await?;
        let id = known.infra_env.id;
        let changed = rooms.set_internal_ignition(&self.hub.caller(), id, &config).await.map_err(told)?;
        let mut told = object.clone();
        let annotations = told.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::ENABLE_IRONIC_AGENT.to_owned(), "true".to_owned());
        let api = self.hub.api(&key.namespace);
        if let Err(error) = write::object(&api, object, &told, Guard::Free).await {
            // It only tells people.
            tracing::debug!(infra_env = %key, %error, "an InfraEnv is not annotated");
        }
        Ok(changed)
    }

    /// Has a machine that was given another image boot this one. Which one it was given stands in an annotation, for what is shown is
    /// withdrawn while a new image is made.
    async fn give(
        &self,
        key: &ObjectKey,
        object: &PreprovisioningImage,
        image: &decide::Image,
    ) -> Result<PreprovisioningImage, Failure> {
        let before = object.annotations().get(annotation::GIVEN_IMAGE);
        if before == Some(&image.image_url) {
            return Ok(object.clone());
        }
        let machine = get(&self.hub.cache.bare_metal_hosts, key);
        let machine = machine.filter(|machine| before.is_some() && decide::state(machine) != PROVISIONED);
        if let Some(machine) = machine {
            let mut restarted = (*machine).clone();
            let annotations = restarted.metadata.annotations.get_or_insert_default();
            annotations.insert(annotation::REBOOT.to_owned(), RESTART.to_owned());
            let api = self.hub.api::<BareMetalHost>(&key.namespace);
            write::object(&api, &*machine, &restarted, Guard::Free).await.map_err(|error| failed(&error))?;
        }
        let mut given = object.clone();
        let annotations = given.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::GIVEN_IMAGE.to_owned(), image.image_url.clone());
        let api = self.hub.api(&key.namespace);
        let written = write::object(&api, object, &given, Guard::Version).await;
        Ok(written.map_err(|error| failed(&error))?.unwrap_or(given))
    }

    async fn show(
        &self,
        key: &ObjectKey,
        object: &PreprovisioningImage,
        shown: &Shown<'_>,
    ) -> Result<(), Failure> {
        let api = self.hub.api(&key.namespace);
        let show = |object: &mut PreprovisioningImage| {
            object.status = Some(decide::status(object, shown, &now()));
        };
        write::status(&api, object, show).await.map(drop).map_err(|error| failed(&error))
    }
}
