//! Whether images are to be had, and where: registries are asked for many images, and of none is more read than needed.

use std::collections::{BTreeMap, BTreeSet};

use assisted_wire::cluster_params::CpuArchitecture;
use parking_lot::Mutex;

use crate::error::{PullError, RegistryError};
use crate::mirror::Source;
use crate::reference::Reference;
use crate::registry::{Session, Sources};

/// How closely is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The registry says that it has the manifest: one request for an image.
    Manifest,
    /// It says so of the manifests for these architectures and of each of their layers, too.
    Layers,
}

/// Checks whether many images can be pulled, with the credentials of one session.
#[derive(Debug)]
pub struct AvailabilityChecker {
    session: Session,
    depth: Depth,
    architectures: Vec<CpuArchitecture>,
    /// Registries that could not be reached, and why: none is waited for once more with each image.
    lost: Mutex<BTreeMap<String, String>>,
}

impl AvailabilityChecker {
    /// Looks as closely as `depth` says; `architectures` are those that layers are looked for of.
    pub fn new(session: Session, depth: Depth, architectures: Vec<CpuArchitecture>) -> Self {
        Self { session, depth, architectures, lost: Mutex::default() }
    }

    /// The first of some places that has an image. Places that are not given are not asked.
    ///
    /// # Errors
    ///
    /// What each place answered.
    pub async fn locate(&self, wanted: &Reference, places: Vec<Source>) -> Result<Reference, PullError> {
        let mut sources = Sources::new(wanted, places);
        loop {
            let source = sources.next()?;
            match self.check_unless_lost(&source).await {
                Ok(()) => return Ok(source.reference),
                Err(error) => sources.failed(&source, error)?,
            }
        }
    }

    async fn check_unless_lost(&self, source: &Source) -> Result<(), RegistryError> {
        let registry = &source.reference.repository.registry;
        if let Some(why) = self.lost.lock().get(registry) {
            return Err(RegistryError::Unreachable(why.clone()));
        }
        let asked = self.check(source).await;
        if let Err(RegistryError::Unreachable(why)) = &asked {
            self.lost.lock().insert(registry.clone(), why.clone());
        }
        asked
    }

    async fn check(&self, source: &Source) -> Result<(), RegistryError> {
        self.session.has_manifest(source).await?;
        if self.depth == Depth::Manifest {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        for architecture in &self.architectures {
            let image = self.session.image_at(source, &source.reference, *architecture).await?;
            for part in image.parts() {
                if seen.insert(part.digest) {
                    self.session.has_blob(source, part).await?;
                }
            }
        }
        Ok(())
    }
}
