//! Manifests of images and lists of them, in the OCI form and in that of Docker.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Get, Session};
use crate::error::RegistryError;
use crate::mirror::Source;
use crate::reference::Digest;

pub(super) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, \
                      application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

/// Longest manifest that is read, in bytes: what registries take.
const LONGEST: u64 = 4 << 20;
/// Longest configuration of an image that is read, in bytes.
const LONGEST_CONFIG: u64 = 4 << 20;

/// A part of an image. Of what kind it is shows in itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Descriptor {
    #[serde(deserialize_with = "digest")]
    pub digest: Digest,
    pub size: u64,
}

/// An image for one architecture.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Manifest {
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

/// Images for several architectures.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Index {
    pub manifests: Vec<Listed>,
}

/// One of several images.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Listed {
    #[serde(deserialize_with = "digest")]
    pub digest: Digest,
    #[serde(default)]
    pub platform: Platform,
}

/// What an image runs on, in the words of Go.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Platform {
    #[serde(default)]
    pub architecture: String,
    #[serde(default)]
    pub os: String,
}

/// What a reference leads to.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    Index(Index),
    Image(Manifest),
}

/// What an image says of itself; the rest of its configuration is not read.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Config {
    #[serde(default)]
    pub architecture: String,
    #[serde(default, rename = "config", deserialize_with = "or_default")]
    pub settings: Settings,
}

/// What containers of an image get.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Settings {
    #[serde(default, rename = "Labels", deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
}

/// Builders write null for what is not there.
fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    schema_version: Option<u32>,
    #[serde(default)]
    manifests: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    layers: Option<serde::de::IgnoredAny>,
}

fn digest<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

impl Index {
    /// The images for Linux; some lists don't name the system.
    fn linux(&self) -> impl Iterator<Item = &Listed> {
        self.manifests.iter().filter(|listed| matches!(listed.platform.os.as_str(), "linux" | ""))
    }

    /// The architectures of the images.
    pub(crate) fn architectures(&self) -> Vec<&str> {
        self.linux().map(|listed| listed.platform.architecture.as_str()).collect()
    }

    /// The image for an architecture.
    pub(crate) fn find(&self, architecture: &str) -> Option<Digest> {
        let listed = self.linux().find(|listed| listed.platform.architecture == architecture);
        listed.map(|listed| listed.digest)
    }
}

impl Found {
    pub(crate) fn read(text: &[u8]) -> Result<Self, RegistryError> {
        let failed = |error: serde_json::Error| {
            RegistryError::Malformed(format!("its manifest can't be read, {error}"))
        };
        let kind: Kind = serde_json::from_slice(text).map_err(failed)?;
        match kind {
            Kind { manifests: Some(_), .. } => serde_json::from_slice(text).map(Self::Index).map_err(failed),
            Kind { layers: Some(_), .. } => serde_json::from_slice(text).map(Self::Image).map_err(failed),
            Kind { schema_version: Some(1), .. } => Err(RegistryError::Malformed(
                "its manifest is of schema 1, which is no longer read".to_owned(),
            )),
            _ => Err(RegistryError::Malformed("its manifest has neither layers nor manifests".to_owned())),
        }
    }
}

impl Session {
    /// What an image's name leads to at one place, with its digest.
    pub(crate) async fn manifest(&self, source: &Source) -> Result<(Found, Digest), RegistryError> {
        let wanted = &source.reference;
        let path = format!("manifests/{}", wanted.selector());
        let ask = Get { path, head: false, accept: Some(ACCEPT), from: 0, source };
        let text = self.text(&ask, "the manifest", LONGEST).await?;
        let got = Digest::of(&text);
        match wanted.digest {
            Some(wanted) if wanted != got => Err(RegistryError::WrongDigest { wanted, got }),
            _ => Ok((Found::read(&text)?, got)),
        }
    }

    /// What an image says of itself.
    pub(crate) async fn config(&self, source: &Source, config: &Descriptor) -> Result<Config, RegistryError> {
        let wanted = config.digest;
        let ask = Get { path: format!("blobs/{wanted}"), head: false, accept: None, from: 0, source };
        let read = self.text(&ask, "the configuration", LONGEST_CONFIG).await;
        let text = read.map_err(|error| match error {
            RegistryError::NoImage => RegistryError::NoBlob(wanted),
            other => other,
        })?;
        let got = Digest::of(&text);
        if got != wanted {
            return Err(RegistryError::WrongDigest { wanted, got });
        }
        serde_json::from_slice(&text)
            .map_err(|error| RegistryError::Malformed(format!("its configuration can't be read, {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let digest = Digest::of(b"x");
        let part = format!(r#"{{"mediaType":"t","digest":"{digest}","size":7}}"#);
        let image = format!(r#"{{"schemaVersion":2,"config":{part},"layers":[{part},{part}]}}"#);
        assert!(
            matches!(Found::read(image.as_bytes()).unwrap(), Found::Image(read) if read.layers.len() == 2)
        );
        let index = format!(
            r#"{{"schemaVersion":2,"manifests":[{{"digest":"{digest}","size":7,"platform":{{"architecture":"arm64","os":"linux","variant":"v8"}}}},{{"digest":"{digest}","size":1}}]}}"#
        );
        let Found::Index(read) = Found::read(index.as_bytes()).unwrap() else { panic!() };
        assert_eq!(read.manifests[0].platform.architecture, "arm64");
    }

    #[test]
    fn what_is_no_manifest() {
        for text in [
            "",
            "{}",
            "[]",
            r#"{"schemaVersion":1,"fsLayers":[]}"#,
            r#"{"layers":[]}"#,
            r#"{"manifests":[{"digest":"sha256:0"}]}"#,
        ] {
            assert!(matches!(Found::read(text.as_bytes()), Err(RegistryError::Malformed(_))), "{text}");
        }
    }
}
