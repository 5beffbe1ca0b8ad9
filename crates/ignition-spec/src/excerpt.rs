//! The part of an Ignition config that validations read.
//!
//! Whoever asks only what a config lays on a host reads this and not a whole [`Config`](crate::Config): whatever else is in
//! it doesn't matter, so that configs of versions that nobody knows yet are read too.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::resource;

/// A config of any version 3, without what nobody asks about.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Excerpt {
    pub ignition: Head,
    pub storage: Storage,
    pub systemd: Systemd,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Head {
    pub version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Storage {
    pub files: Vec<File>,
    pub luks: Vec<Luks>,
}

#[derive(Deserialize)]
pub struct File {
    pub path: String,
    #[serde(default)]
    pub contents: Contents,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Contents {
    pub compression: Option<String>,
    pub source: Option<String>,
}

impl Contents {
    /// What a data URL holds, packed as it is; `None` when there is no such URL or it can't be read.
    pub fn data(&self) -> Option<Vec<u8>> {
        resource::data(self.source.as_deref()?)
    }
}

#[derive(Deserialize)]
pub struct Luks {
    #[serde(default)]
    pub clevis: Option<Clevis>,
}

/// How a disk is unlocked.
#[derive(Deserialize)]
pub struct Clevis {
    #[serde(default)]
    pub tpm2: bool,
    /// Servers; only how many there are.
    #[serde(default)]
    pub tang: Vec<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Systemd {
    pub units: Vec<Unit>,
}

#[derive(Deserialize)]
pub struct Unit {
    pub name: String,
    pub contents: Option<String>,
}

impl Excerpt {
    /// Reads a config.
    ///
    /// # Errors
    /// When the text is no JSON, or none of a config.
    pub fn read(config: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(config)
    }

    /// The file that is laid at a path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.storage.files.iter().find(|file| file.path == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configs_of_versions_that_nobody_knows_yet_are_read() {
        let config = br#"{"ignition":{"version":"3.9.0","new":1},"kernelArguments":{},"storage":{"files":[
            {"path":"/a","contents":{"source":"data:,%7B%7D","newer":{}},"newest":1},{"path":"/b"}],
            "luks":[{"name":"root","clevis":{"tang":[{"url":"http://t","advertisement":"x"}]}}]},
            "systemd":{"units":[{"name":"a.service","contents":"[Unit]","x":0}]}}"#;
        let read = Excerpt::read(config).unwrap();
        assert_eq!(read.ignition.version, "3.9.0");
        assert_eq!(read.file("/a").unwrap().contents.data().unwrap(), b"{}");
        assert_eq!((read.file("/b").unwrap().contents.data(), read.file("/c").is_none()), (None, true));
        let clevis = read.storage.luks[0].clevis.as_ref().unwrap();
        assert_eq!((clevis.tpm2, clevis.tang.len()), (false, 1));
        assert_eq!(read.systemd.units[0].contents.as_deref(), Some("[Unit]"));
        assert!(Excerpt::read(b"{}").is_ok() && Excerpt::read(b"x").is_err());
    }
}
