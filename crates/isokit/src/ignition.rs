//! The archive that brings an Ignition config into the initramfs (image-service §2.7).

use bytes::Bytes;

use crate::cpio::compression::gzip;
use crate::cpio::{Limits, Writer, read};
use crate::error::{Error, Result};

/// Name under which Ignition looks for its config.
const CONFIG: &str = "config.ign";
/// Configs that Ignition merges before the user's.
const BASE_CONFIGS: &str = "usr/lib/ignition/base.d/";
/// Where coreos-installer puts network settings.
const NETWORK: &str = "etc/coreos-firstboot-network/";
/// The kernel wants a plain archive behind this one to begin at a multiple of it.
const ALIGN: usize = 4;

/// A packed config: made once, laid into any number of images. Holds secrets, so it shows only its length.
#[derive(Clone)]
pub struct Archive(Bytes);

impl Archive {
    /// Packs `config`, an Ignition config in JSON.
    ///
    /// # Errors
    /// None while there is memory.
    pub fn new(config: &[u8]) -> Result<Self> {
        let mut writer = Writer::new();
        writer.file(CONFIG, 0o644, config);
        let mut bytes = gzip(&writer.finish())?;
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        Ok(Self(bytes.into()))
    }

    /// The archive; its length is a multiple of 4.
    pub fn bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// In bytes.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Archive({} bytes)", self.0.len())
    }
}

/// What is in the ignition area of an image. Holds secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The user's config.
    pub config: Option<Vec<u8>>,
    /// Names of configs that are merged before it.
    pub base_configs: Vec<String>,
    /// Names of the network settings that coreos-installer put beside it.
    pub network: Vec<String>,
}

impl Contents {
    /// Unpacks an ignition area, whoever filled it; an empty one has no contents.
    ///
    /// # Errors
    /// When the area holds what is no archive.
    pub fn read(area: &[u8]) -> Result<Self> {
        let mut contents = Self::default();
        for member in read(area, Limits::default())? {
            let name = member.name.trim_start_matches(['.', '/']);
            if name == CONFIG {
                contents.config = Some(member.content);
            } else if let Some(name) = name.strip_prefix(BASE_CONFIGS).filter(|name| !name.is_empty()) {
                contents.base_configs.push(name.to_owned());
            } else if let Some(name) = name.strip_prefix(NETWORK).filter(|name| !name.is_empty()) {
                contents.network.push(name.to_owned());
            }
        }
        Ok(contents)
    }
}

/// Says that `archive` is too long for an area of `area` bytes.
pub(crate) fn fits(archive: u64, area: u64) -> Result<()> {
    if archive > area { Err(Error::TooLong { len: archive, area }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_packed_the_same_way_each_time_and_read_back() {
        let config = br#"{"ignition":{"version":"3.2.0"}}"#;
        let archive = Archive::new(config).unwrap();
        assert_eq!(archive.bytes(), Archive::new(config).unwrap().bytes());
        assert_eq!(archive.len() % 4, 0);
        let mut area = archive.bytes().to_vec();
        assert_eq!((&area[..2], area[9], &area[4..8]), (&[0x1f, 0x8b][..], 255, &[0; 4][..]));
        area.resize(1 << 18, 0);
        assert_eq!(Contents::read(&area).unwrap().config.as_deref(), Some(&config[..]));
        assert_eq!(Contents::read(&[0; 1 << 18]).unwrap().config, None);
        assert!(!Archive::new(b"").unwrap().is_empty());
    }

    #[test]
    fn what_coreos_installer_adds_is_told() {
        let mut writer = Writer::new();
        writer.directory("etc/coreos-firstboot-network", 0o755);
        writer.file("etc/coreos-firstboot-network/eth0.nmconnection", 0o600, b"[connection]");
        writer.file("usr/lib/ignition/base.d/50-site.ign", 0o644, b"{}");
        let contents = Contents::read(&writer.finish()).unwrap();
        assert_eq!(contents.network, ["eth0.nmconnection"]);
        assert_eq!(contents.base_configs, ["50-site.ign"]);
        assert_eq!(contents.config, None);
    }
}
