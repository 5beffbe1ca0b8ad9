//! Where the files come from that hosts are installed with: their Ignition configs, the install config, credentials.

pub mod openshift;
mod simulation;

use std::sync::Arc;

use assisted_blob::Blob;
use assisted_core::cluster::record::PayloadImages;
use assisted_core::facts::{Facts, HostFacts};
use assisted_core::host::record::HostKey;
use assisted_core::refusal::Refusal;
use assisted_core::rules::install_config::Additions;
use assisted_core::settings;
use assisted_wire::host::HostRole;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use uuid::Uuid;

use crate::{Error, Service};

pub use simulation::Simulation;

/// Makes files out of what is known of a cluster.
///
/// Asked again whenever it is not certain that it was done: what it does besides must be harmless twice.
pub trait Generator: Send + Sync {
    /// What goes into each install config besides what is known of its cluster.
    fn additions(&self) -> Additions {
        Additions::default()
    }

    /// Images of the release that hosts need to know; `None` when none are needed.
    fn payload<'a>(&'a self, _: &'a Facts) -> BoxFuture<'a, Result<Option<PayloadImages>, GenerateError>> {
        async { Ok(None) }.boxed()
    }

    /// All files of a cluster and its hosts; `blob` holds the manifests of the user, which are to be laid over. Keeps nothing.
    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        blob: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>>;

    /// The Ignition config of a host that joins an installed cluster.
    fn host_ignition<'a>(
        &'a self,
        facts: &'a Facts,
        host: HostKey,
    ) -> BoxFuture<'a, Result<Bytes, GenerateError>>;
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

/// The generator that is asked for.
pub(crate) fn chosen(kind: settings::Generator) -> Option<Arc<dyn Generator>> {
    match kind {
        // The other one is made by whoever starts the service: it reads settings and keeps files.
        settings::Generator::None | settings::Generator::Openshift => None,
        settings::Generator::Simulation => Some(Arc::new(Simulation)),
    }
}

const NOT_CHOSEN: &str = "This service generates nothing that hosts could be installed with: GENERATOR is none. Start it with \
     GENERATOR=openshift (--generator openshift) to install clusters, or with GENERATOR=simulation (--generator simulation) to \
     try out installations of simulated hosts";

impl Service {
    /// The generator.
    ///
    /// # Errors
    ///
    /// 409 when none is chosen.
    pub(crate) fn generator(&self) -> Result<&Arc<dyn Generator>, Refusal> {
        self.0.generator.as_ref().ok_or_else(|| Refusal::conflict(NOT_CHOSEN))
    }
}

/// Name of a host's Ignition config; the bootstrap host becomes a master.
pub(crate) fn ignition_name(host: &HostFacts) -> String {
    let role = if host.record.host.bootstrap { HostRole::Master } else { host.effective_role() };
    format!("{role}-{}.ign", host.record.host.id)
}
