//! A base image that others are made from: read once, open as long as anybody needs it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use assisted_base::hex;
use assisted_base::version::Version;
use assisted_isokit::{Architecture, Archive, Image, Layout};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use url::Url;

use super::{ImageKind, Overlay};
use crate::catalog::OsImage;
use crate::http::Arrival;
use crate::http::conditional::Validators;
use crate::http::content::Content;

/// From this version of OpenShift on, the initramfs gets `nmstatectl` where there is one.
const NMSTATE_FROM: &str = "4.18.0-ec.0";

/// Why nothing can be made of an image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaseImageError {
    #[error(transparent)]
    Image(#[from] assisted_isokit::Error),
    #[error("the image can't be read")]
    Disk(#[from] io::Error),
    #[error("a minimal image needs the address of this service: set IMAGE_SERVICE_BASE_URL")]
    NoBaseUrl,
}

/// What belongs to a base image besides its file.
#[derive(Clone, Debug)]
pub(crate) struct Support {
    /// Where machines that boot a minimal image find the rest; none: no minimal images.
    rootfs_url: Option<Url>,
    /// An archive with `nmstatectl` that an administrator, or another image service, left beside the base image.
    nmstate: Option<PathBuf>,
}

impl Support {
    pub fn new(dir: &Path, base_url: Option<&Url>, image: &OsImage) -> Self {
        let OsImage { version, cpu_architecture, openshift_version, .. } = image;
        let rootfs_url = base_url.map(|base| {
            let mut url = base.clone();
            url.set_path(&format!("{}/boot-artifacts/rootfs", base.path().trim_end_matches('/')));
            url.query_pairs_mut()
                .clear()
                .append_pair("arch", cpu_architecture)
                .append_pair("version", version);
            url
        });
        let gate = Version::parse(openshift_version).zip(Version::parse(NMSTATE_FROM));
        let nmstate = gate
            .is_some_and(|(version, from)| version >= from)
            .then(|| dir.join(format!("nmstatectl-{version}-{cpu_architecture}")));
        Self { rootfs_url, nmstate }
    }
}

/// A part of a base image that is served as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Artifact {
    Kernel,
    Rootfs,
    InsFile,
}

/// An open base image.
#[derive(Debug)]
pub(crate) struct BaseImage {
    image: Image,
    size: u64,
    /// Tells it from other base images; the same while it arrives as later.
    identity: Vec<u8>,
    modified: SystemTime,
    arrival: Option<Arrival>,
    rootfs_url: Option<Url>,
    nmstate: Option<Layout>,
    minimal: OnceLock<Image>,
}

impl BaseImage {
    /// Reads an image, even if its file does not have all of it yet; `modified` is the time of change of its parts.
    ///
    /// # Errors
    ///
    /// When it is no live image, or what is needed to make others from it is not here yet.
    pub fn open(
        os_image: &OsImage,
        support: Support,
        layout: Layout,
        modified: SystemTime,
        arrival: Option<Arrival>,
    ) -> Result<Self, BaseImageError> {
        let length = layout.len();
        let image = Image::read(layout)?;
        let key = os_image.key();
        let identity = format!("{}/{}/{}/{length}", key.version, key.architecture, key.kind.name());
        let nmstate = match support.nmstate.map(File::open) {
            None => None,
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Some(file) => {
                let file = file?;
                let length = file.metadata()?.len();
                Some(Layout::file(Arc::new(file), length))
            }
        };
        Ok(Self {
            image,
            size: length,
            identity: identity.into_bytes(),
            modified,
            arrival,
            rootfs_url: support.rootfs_url,
            nmstate,
            minimal: OnceLock::new(),
        })
    }

    /// Whether all that is needed to make others from it can be read: the whole is not here yet.
    ///
    /// # Errors
    ///
    /// What can't be read.
    pub fn is_complete(&self) -> Result<(), BaseImageError> {
        // Boot configurations are read when something is appended to them.
        let probe = Archive::new(b"{}")?;
        if self.image.architecture() != Some(Architecture::S390x) {
            self.image.customise(&probe, Some(&[]), None)?;
        }
        Ok(())
    }

    /// In bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// A customised image, or what iPXE loads instead of one.
    ///
    /// # Errors
    ///
    /// When the parts don't fit, or the base image has no place for them.
    pub fn customise(&self, image_kind: ImageKind, overlay: &Overlay) -> Result<Layout, BaseImageError> {
        let Overlay { ignition, ramdisk, kargs, .. } = overlay;
        let kargs = kargs.as_deref();
        Ok(match image_kind {
            ImageKind::Full | ImageKind::Disconnected => self.image.customise(ignition, kargs, None)?,
            ImageKind::Minimal => self.minimal()?.customise(ignition, kargs, ramdisk.clone())?,
            ImageKind::Initrd => {
                let nmstate = self.nmstate.as_ref().filter(|_| ramdisk.is_some());
                self.image.pxe_initrd(ignition, ramdisk.clone(), nmstate)?
            }
        })
    }

    fn minimal(&self) -> Result<&Image, BaseImageError> {
        if let Some(minimal) = self.minimal.get() {
            return Ok(minimal);
        }
        let url = self.rootfs_url.as_ref().ok_or(BaseImageError::NoBaseUrl)?;
        let minimal = self.image.minimal(url.as_str(), self.nmstate.as_ref())?;
        Ok(self.minimal.get_or_init(|| minimal))
    }

    /// Where an s390x machine loads an initramfs of some length.
    ///
    /// # Errors
    ///
    /// When the base image does not say.
    pub fn addrsize(&self, initrd: u64) -> Result<Layout, BaseImageError> {
        let mut layout = Layout::default();
        layout.push(Bytes::copy_from_slice(&self.image.addrsize(initrd)?));
        Ok(layout)
    }

    /// Whether there is an initramfs for iPXE.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn has_initrd(&self) -> Result<(), BaseImageError> {
        self.image.iso().file(assisted_isokit::pxe::INITRD)?;
        Ok(())
    }

    /// A part that is served as it is.
    ///
    /// # Errors
    ///
    /// When the base image does not have it.
    pub fn artifact(&self, artifact: Artifact) -> Result<Content, BaseImageError> {
        let (layout, name) = match artifact {
            Artifact::Kernel => (self.image.kernel()?, "vmlinuz"),
            Artifact::Rootfs => (self.image.rootfs()?, "rootfs.img"),
            Artifact::InsFile => (self.image.ins_file()?, "generic.ins"),
        };
        Ok(Content {
            layout,
            validators: Validators { etag: self.etag(name.as_bytes()), modified: self.modified },
            last_modified: None,
            name: name.to_owned(),
            arrival: self.arrival.clone(),
        })
    }

    /// The tag of something that is made of this image and of something else.
    pub fn etag(&self, other: &[u8]) -> String {
        let url = self.rootfs_url.as_ref().map_or("", Url::as_str);
        let digest = [self.identity.as_slice(), url.as_bytes(), other]
            .iter()
            .fold(Sha256::new(), |digest, part| {
                digest.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
            })
            .finalize();
        format!("\"{}\"", hex::encode(&digest[..16]))
    }

    pub fn arrival(&self) -> Option<Arrival> {
        self.arrival.clone()
    }
}
