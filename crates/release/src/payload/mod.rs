//! Releases: what an OpenShift release image says of itself, and the images that it is made of (install-generation §3.4).

pub(crate) mod image_references;
mod metadata;

use std::collections::BTreeMap;

use assisted_wire::cluster_params::CpuArchitecture;

use crate::error::{PullError, RegistryError};
use crate::image::Image;
use crate::reference::{Reference, Repository};
use crate::registry::Session;
use image_references::ImageReferences;

pub use metadata::Metadata;

const IMAGE_REFERENCES: &str = "release-manifests/image-references";
const METADATA: &str = "release-manifests/release-metadata";

/// Longest of the two files that is read, in bytes; they have about 200 KiB.
const LONGEST: u64 = 16 << 20;

/// Names of images in a release.
pub mod component {
    pub const INSTALLER: &str = "installer";
    pub const BAREMETAL_INSTALLER: &str = "baremetal-installer";
    pub const INSTALLER_ARTIFACTS: &str = "installer-artifacts";
    pub const MACHINE_CONFIG_OPERATOR: &str = "machine-config-operator";
    pub const MUST_GATHER: &str = "must-gather";
    pub const DOCKER_REGISTRY: &str = "docker-registry";
    pub const IRONIC_AGENT: &str = "ironic-agent";
    pub const OKD_RPMS: &str = "okd-rpms";
    /// The operating system, by its two names.
    pub const OPERATING_SYSTEM: [&str; 2] = ["rhel-coreos", "stream-coreos"];
}

/// A release.
#[derive(Clone, Debug)]
pub struct Release {
    image: Image,
    /// Its name: `4.22.9`.
    pub version: String,
    /// What it serves; `multi` when its name leads to images for several architectures.
    pub architecture: CpuArchitecture,
    /// What it says of its place among releases.
    pub metadata: Metadata,
    /// Version of Kubernetes that it brings; none: it does not say.
    pub kubernetes: Option<String>,
    components: BTreeMap<String, Reference>,
}

impl Session {
    /// Reads a release. Of one for several architectures, the image for `architecture` is read.
    ///
    /// # Errors
    ///
    /// See [`RegistryError`]; [`RegistryError::Malformed`] for an image that is no release.
    pub async fn release(
        &self,
        wanted: &Reference,
        architecture: CpuArchitecture,
    ) -> Result<Release, PullError> {
        let image = self.image(wanted, architecture).await?;
        let mut texts = image.read(&[IMAGE_REFERENCES, METADATA], LONGEST).await?.into_iter();
        let failed = |error| PullError::new(wanted, error);
        let references = texts.next().flatten().ok_or_else(|| {
            failed(RegistryError::Malformed(format!("it is no release, it has no {IMAGE_REFERENCES}")))
        })?;
        let references = ImageReferences::read(&references).map_err(failed)?;
        let metadata = match texts.next().flatten() {
            Some(text) => Metadata::read(&text).map_err(failed)?,
            None => Metadata { version: references.name.clone(), ..Metadata::default() },
        };
        let architecture = match (image.list(), image.architectures()) {
            (Some(_), _) => CpuArchitecture::Multi,
            (None, [one, ..]) => *one,
            (None, []) => {
                return Err(failed(RegistryError::Malformed("it does not tell its architecture".to_owned())));
            }
        };
        let version = metadata.version.clone();
        let ImageReferences { components, kubernetes, .. } = references;
        Ok(Release { image, version, architecture, metadata, kubernetes, components })
    }
}

impl Release {
    /// The release by digest: of one for several architectures, that of the list.
    pub fn pinned(&self) -> Reference {
        let pinned = self.image.pinned();
        match self.image.list() {
            Some(list) => Reference::pinned(pinned.repository.clone(), list),
            None => pinned.clone(),
        }
    }

    /// The architectures that it serves.
    pub fn architectures(&self) -> &[CpuArchitecture] {
        self.image.architectures()
    }

    /// The release by the digest that is read for one architecture; its own where it is for one alone.
    pub fn image(&self) -> &Reference {
        self.image.pinned()
    }

    /// All images that it is made of, by their names in it.
    pub fn components(&self) -> &BTreeMap<String, Reference> {
        &self.components
    }

    /// The name of one of its images.
    ///
    /// # Errors
    ///
    /// [`RegistryError::NoComponent`] when it has none of that name.
    pub fn component(&self, name: &str) -> Result<&Reference, PullError> {
        let missing = || PullError::new(&self.pinned(), RegistryError::NoComponent(name.to_owned()));
        self.components.get(name).ok_or_else(missing)
    }

    /// The name of the image of the operating system.
    ///
    /// # Errors
    ///
    /// [`RegistryError::NoComponent`] when it has none.
    pub fn operating_system(&self) -> Result<&Reference, PullError> {
        let [first, second] = component::OPERATING_SYSTEM;
        self.component(first).or_else(|error| self.component(second).map_err(|_| error))
    }

    /// Finds one of its images. Where a release was copied into one repository, its images lie there too, by digest; that
    /// is where one is looked for that is not to be had under its own name.
    ///
    /// # Errors
    ///
    /// See [`RegistryError`].
    pub async fn open(
        &self,
        session: &Session,
        name: &str,
        architecture: CpuArchitecture,
    ) -> Result<Image, PullError> {
        let wanted = self.component(name)?;
        let error = match session.image(wanted, architecture).await {
            Err(error) if error.cause.is_of_the_place() => error,
            settled => return settled,
        };
        let Some(digest) = wanted.digest else { return Err(error) };
        let beside: &Repository = &self.image.pinned().repository;
        if *beside == wanted.repository {
            return Err(error);
        }
        match session.image(&Reference::pinned(beside.clone(), digest), architecture).await {
            Ok(image) => Ok(image),
            Err(second) => Err(PullError::new(wanted, RegistryError::Everywhere(vec![error, second]))),
        }
    }
}
