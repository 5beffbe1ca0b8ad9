//! Where the files come from that hosts are installed with: their Ignition configs, the install config, credentials.

pub mod openshift;
mod review;
mod simulation;

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use assisted_blob::Blob;
use assisted_config::{self as config, Settings};
use assisted_core::admission::install_config::Additions;
use assisted_core::layering::Violation;
use assisted_core::model::cluster::{ClusterRecord, PayloadImages};
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::measurement::ProgramUsed;
use assisted_core::model::refusal::Refusal;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::host::HostRole;
use assisted_wire::secret::Secret;
use assisted_wire::version::ReleaseImage;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use uuid::Uuid;

use crate::Error;

use openshift::{Openshift, SetupError};
pub(crate) use review::ReviewTurns;
pub use simulation::Simulation;

/// Makes files out of what is known of a cluster. Hosts that a user took out are not among the facts
/// (`Database::load_installation`).
///
/// Asked again whenever it is not certain that it was done: what it does besides must be harmless twice.
pub trait Generator: Send + Sync {
    /// What goes into a cluster's install config besides what the cluster is.
    fn additions(&self, _: &Facts) -> Result<Additions, GenerateError> {
        Ok(Additions::default())
    }

    /// What the cluster's release says of itself.
    fn payload<'a>(&'a self, _: &'a Facts) -> BoxFuture<'a, Result<Payload, GenerateError>> {
        async { Ok(Payload::default()) }.boxed()
    }

    /// All files of a cluster and its hosts, out of what was read of its release; `blob` holds the manifests of the user, which
    /// are to be laid over. Keeps nothing.
    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        payload: Payload,
        blob: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>>;

    /// The Ignition config of a host that joins an installed cluster.
    fn host_ignition<'a>(
        &'a self,
        facts: &'a Facts,
        host: HostKey,
    ) -> BoxFuture<'a, Result<Bytes, GenerateError>>;

    /// What a release image says of itself, read with these registry credentials.
    fn release<'a>(
        &'a self,
        _: &'a str,
        _: &'a Secret,
    ) -> BoxFuture<'a, Result<ReleaseImage, GenerateError>> {
        async { Err(GenerateError::Refused(ONLY_KNOWN.to_owned())) }.boxed()
    }

    /// What an image serves, read with these registry credentials.
    fn architectures<'a>(
        &'a self,
        _: &'a str,
        _: &'a Secret,
    ) -> BoxFuture<'a, Result<Vec<CpuArchitecture>, GenerateError>> {
        async { Err(GenerateError::Refused(ONLY_KNOWN.to_owned())) }.boxed()
    }

    /// The image in a release that has this name, and what the release serves; read with these registry credentials.
    fn component<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a Secret,
    ) -> BoxFuture<'a, Result<ReleaseComponent, GenerateError>> {
        async { Err(GenerateError::Refused(ONLY_KNOWN.to_owned())) }.boxed()
    }

    /// The discovery config of an image that brings the release of this cluster along.
    fn unconfigured_ignition<'a>(
        &'a self,
        _: &'a ClusterRecord,
        _: &'a InfraEnvRecord,
    ) -> BoxFuture<'a, Result<Vec<u8>, GenerateError>> {
        async { Err(GenerateError::Refused(ONLY_OPENSHIFT.to_owned())) }.boxed()
    }
}

const ONLY_KNOWN: &str = "a service that only simulates reads no release images: name one of RELEASE_IMAGES";

const ONLY_OPENSHIFT: &str = "The config of a disconnected ISO is made by OpenShift's installer: start the service without \
     GENERATOR=simulation (--generator simulation), or change the infra-env's image_type to full-iso";

/// One of the images that a release is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseComponent {
    /// The image.
    pub image: String,
    /// What the release serves.
    pub architectures: Vec<CpuArchitecture>,
}

/// What the release of a cluster says of itself.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// Images that hosts need to know; `None` when none are needed.
    pub images: Option<PayloadImages>,
    /// What the generator that read the release keeps of it, so that it is read once. Nobody else knows what it is.
    kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl Payload {
    /// Images that hosts need to know, and what the generator wants to be given back.
    pub fn new(images: PayloadImages, kept: impl Any + Send + Sync) -> Self {
        Self { images: Some(images), kept: Some(Arc::new(kept)) }
    }

    /// What the generator wanted to be given back, unless it is another one's.
    fn kept<T: Any + Send + Sync>(self) -> Option<Arc<T>> {
        Arc::downcast(self.kept?).ok()
    }
}

/// What was generated for a cluster.
#[derive(Clone, Debug)]
pub struct Files {
    /// Names, below the cluster's folder, and contents.
    pub contents: Vec<(String, Bytes)>,
    /// Names and texts of the manifests that the service has added.
    pub manifests: Vec<(String, Bytes)>,
    /// The id that the new cluster will have.
    pub openshift_cluster_id: Uuid,
    /// The program that made them; `None`: none was needed.
    pub program: Option<ProgramUsed>,
    /// What may spoil the installation without stopping it.
    pub warnings: Vec<Violation>,
}

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// It can't be done as the user wants it; the text is shown to the user.
    #[error("{0}")]
    Refused(String),
    /// Something broke that may be mended by trying again.
    #[error(transparent)]
    Broken(#[from] Error),
}

impl From<GenerateError> for Error {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Refused(reason) => Refusal::conflict(reason).into(),
            GenerateError::Broken(error) => error,
        }
    }
}

/// The generator that the settings ask for; it keeps programs and works below `dir`.
///
/// # Errors
///
/// The settings of the one that was chosen can't be used.
pub fn open(settings: &Settings, dir: &Path) -> Result<Arc<dyn Generator>, SetupError> {
    Ok(match settings.generation.generator {
        config::Generator::Openshift => Arc::new(Openshift::open(settings, dir)?),
        config::Generator::Simulation => {
            // Also where the folder is no longer used: what is left there has secrets.
            openshift::clear(dir)?;
            Arc::new(Simulation)
        }
    })
}

/// The cluster that files are made for; it may have gone since they were asked for.
fn cluster(facts: &Facts) -> Result<&ClusterRecord, GenerateError> {
    facts.cluster.as_ref().ok_or_else(|| GenerateError::Refused("the cluster is gone".to_owned()))
}

/// The host that a config is made for; it may have gone since.
fn host(facts: &Facts, key: HostKey) -> Result<&HostFacts, GenerateError> {
    facts.host(key).map_err(|_| GenerateError::Refused("the host is gone".to_owned()))
}

/// Name of a host's Ignition config; the bootstrap host becomes a master.
pub(crate) fn ignition_name(host: &HostFacts) -> String {
    let role = if host.record.host.bootstrap { HostRole::Master } else { host.effective_role() };
    format!("{role}-{}.ign", host.record.host.id)
}

#[cfg(test)]
mod tests {
    use assisted_config::Generator as Name;

    use super::*;

    #[test]
    fn what_a_killed_run_has_left_is_removed_whichever_generator_is_next() {
        for name in [Name::Simulation, Name::Openshift] {
            let dir = tempfile::tempdir().unwrap();
            let work = dir.path().join("install-config-generate");
            std::fs::create_dir_all(work.join("cluster.xyz")).unwrap();
            std::fs::write(work.join("cluster.xyz/install-config.yaml"), "pullSecret").unwrap();
            let mut settings = Settings::default();
            settings.generation.generator = name;
            let _generator = open(&settings, dir.path()).map_err(|error| error.to_string()).unwrap();
            assert!(!work.exists());
        }
    }
}
