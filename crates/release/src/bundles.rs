//! Catalogues of operators, as files in an image: which images the operators that a cluster subscribes to are made of.
//!
//! A catalogue has a folder for each package, with a stream of documents, in JSON or in YAML: the package, its channels, its bundles. Of a
//! channel the bundle counts that none other replaces: a new cluster installs that one.

use std::collections::BTreeSet;

use assisted_wire::cluster_params::CpuArchitecture;
use serde::Deserialize;

use crate::error::{PullError, RegistryError};
use crate::reference::Reference;
use crate::registry::Session;

/// Longest description of a package that is read, in bytes: those of published catalogues have up to 40 MB.
const LONGEST: u64 = 128 << 20;
/// The same of one in YAML, which takes many times as long to read.
const LONGEST_YAML: u64 = 32 << 20;

/// A package of a catalogue, and the channel that is subscribed to: without one, the package's own default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub package: String,
    pub channel: Option<String>,
}

/// What a package's subscription installs at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Name and version: `lvms-operator.v4.20.1`.
    pub name: String,
    /// Its own image and those that it names, each once, in order.
    pub images: Vec<String>,
}

/// One document, whatever it describes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    schema: String,
    name: String,
    package: String,
    #[serde(rename = "defaultChannel")]
    default_channel: String,
    entries: Vec<Entry>,
    image: String,
    #[serde(rename = "relatedImages")]
    related_images: Vec<RelatedImage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    name: String,
    replaces: String,
    skips: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RelatedImage {
    image: String,
}

impl Session {
    /// The bundles of packages in a catalogue, in the order in which they are wanted; why not, where a package can't be told.
    ///
    /// # Errors
    ///
    /// See [`RegistryError`]: the catalogue is not to be had.
    pub async fn bundles(
        &self,
        catalogue: &Reference,
        architecture: CpuArchitecture,
        wanted: &[Wanted],
    ) -> Result<Vec<Result<Vec<Bundle>, String>>, PullError> {
        let image = self.image(catalogue, architecture).await?;
        let name = |package: &str, end: &str| format!("configs/{package}/catalog.{end}");
        // Each package by both names, so that layers are searched once.
        let paths: Vec<_> =
            wanted.iter().flat_map(|wanted| ["json", "yaml"].map(|end| name(&wanted.package, end))).collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let mut texts = image.read(&paths, LONGEST).await?.into_iter();
        let mut found = Vec::new();
        for one in wanted {
            let (json, yaml) = (texts.next().flatten(), texts.next().flatten());
            let documents = match (json, yaml) {
                (Some(text), _) => of_json(&text),
                (None, Some(text)) => of_yaml(&text),
                (None, None) => {
                    Err(RegistryError::Malformed(format!("it has no {}", name(&one.package, "json"))))
                }
            };
            let bundles = documents.and_then(|documents| heads(&documents, one));
            found.push(bundles.map_err(|error| error.to_string()));
        }
        Ok(found)
    }
}

fn unreadable(error: &impl std::fmt::Display) -> RegistryError {
    RegistryError::Malformed(format!("its description can't be read: {error}"))
}

fn of_json(text: &[u8]) -> Result<Vec<Document>, RegistryError> {
    let documents = serde_json::Deserializer::from_slice(text).into_iter::<Document>();
    documents.collect::<Result<_, _>>().map_err(|error| unreadable(&error))
}

fn of_yaml(text: &[u8]) -> Result<Vec<Document>, RegistryError> {
    if text.len() as u64 > LONGEST_YAML {
        return Err(RegistryError::TooLarge { what: "a description in YAML", limit: LONGEST_YAML });
    }
    let documents = serde_yaml_ng::Deserializer::from_slice(text).map(Document::deserialize);
    documents.collect::<Result<_, _>>().map_err(|error| unreadable(&error))
}

/// The bundles of a channel that none other in it replaces.
fn heads(documents: &[Document], wanted: &Wanted) -> Result<Vec<Bundle>, RegistryError> {
    let malformed = |what: String| RegistryError::Malformed(what);
    let package = &wanted.package;
    let channel = match &wanted.channel {
        Some(channel) => channel.as_str(),
        None => documents
            .iter()
            .find(|document| document.schema == "olm.package" && document.name == *package)
            .map(|document| document.default_channel.as_str())
            .filter(|channel| !channel.is_empty())
            .ok_or_else(|| malformed(format!("it does not tell the default channel of {package}")))?,
    };
    let entries = documents
        .iter()
        .find(|document| {
            document.schema == "olm.channel" && document.package == *package && document.name == channel
        })
        .map(|document| &document.entries)
        .ok_or_else(|| malformed(format!("{package} has no channel {channel} in it")))?;
    let replaced: BTreeSet<&str> = entries
        .iter()
        .flat_map(|entry| entry.skips.iter().map(String::as_str).chain([entry.replaces.as_str()]))
        .collect();
    let heads: BTreeSet<&str> =
        entries.iter().map(|entry| entry.name.as_str()).filter(|name| !replaced.contains(name)).collect();
    let bundles: Vec<_> = documents
        .iter()
        .filter(|document| {
            document.schema == "olm.bundle"
                && document.package == *package
                && heads.contains(document.name.as_str())
        })
        .map(|document| {
            let related = document.related_images.iter().map(|related| &related.image);
            let images: BTreeSet<_> =
                related.chain([&document.image]).filter(|image| !image.is_empty()).cloned().collect();
            Bundle { name: document.name.clone(), images: images.into_iter().collect() }
        })
        .collect();
    if bundles.is_empty() {
        return Err(malformed(format!("the channel {channel} of {package} has no bundle in it")));
    }
    Ok(bundles)
}

/// Reads a text as the description of a package; for the fuzz targets.
pub(crate) fn described(text: &[u8]) {
    let wanted = Wanted { package: "p".to_owned(), channel: Some("stable".to_owned()) };
    for documents in [of_json(text), of_yaml(text)].into_iter().flatten() {
        if let Ok(bundles) = heads(&documents, &wanted) {
            assert!(!bundles.is_empty(), "a channel with nothing in it is none");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = br#"{"schema": "olm.package", "name": "p", "defaultChannel": "stable", "icon": {"base64data": "AAAA"}}
        {"schema": "olm.channel", "package": "p", "name": "stable",
         "entries": [{"name": "p.v1"}, {"name": "p.v2", "replaces": "p.v1"}, {"name": "p.v3", "replaces": "p.v2", "skips": ["p.v0"]}, {"name": "p.v0"}]}
        {"schema": "olm.channel", "package": "p", "name": "old", "entries": [{"name": "p.v1"}]}
        {"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "quay.io/p@sha256:1", "relatedImages": [{"name": "", "image": "quay.io/q@sha256:1"}]}
        {"schema": "olm.bundle", "package": "p", "name": "p.v3", "image": "quay.io/p@sha256:3", "properties": [{"type": "x", "value": {"a": 1}}],
         "relatedImages": [{"name": "operator", "image": "quay.io/q@sha256:3"}, {"name": "", "image": "quay.io/p@sha256:3"}]}"#;

    fn found(documents: &[Document], channel: Option<&str>) -> Result<Vec<Bundle>, String> {
        let wanted = Wanted { package: "p".to_owned(), channel: channel.map(str::to_owned) };
        heads(documents, &wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_channel_installs_first_is_its_head() {
        let documents = of_json(JSON).unwrap();
        let newest = Bundle {
            name: "p.v3".to_owned(),
            images: ["quay.io/p@sha256:3", "quay.io/q@sha256:3"].map(str::to_owned).to_vec(),
        };
        assert_eq!(found(&documents, None), Ok(vec![newest.clone()]));
        assert_eq!(found(&documents, Some("stable")), Ok(vec![newest]));
        assert_eq!(found(&documents, Some("old")).unwrap()[0].name, "p.v1");
        assert!(found(&documents, Some("none")).unwrap_err().contains("no channel none"));
    }

    #[test]
    fn descriptions_in_yaml_are_read_as_well() {
        let text = b"---\nschema: olm.package\nname: p\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: p\nname: stable\n\
            entries:\n- name: p.v1\n---\nschema: olm.bundle\npackage: p\nname: p.v1\nimage: quay.io/p@sha256:1\n";
        let documents = of_yaml(text).unwrap();
        assert_eq!(found(&documents, None).unwrap()[0].images, ["quay.io/p@sha256:1"]);
        for text in [&b"{"[..], b"[1]", b"{\"schema\": 1}"] {
            assert!(of_json(text).is_err(), "{text:?}");
        }
        assert!(found(&[], None).unwrap_err().contains("default channel of p"));
    }
}
