//! `image-references`: an ImageStream whose tags name the images of a release.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::RegistryError;
use crate::reference::Reference;

#[derive(Deserialize)]
struct Stream {
    kind: String,
    metadata: Named,
    spec: Spec,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Spec {
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    from: Option<From>,
}

#[derive(Deserialize)]
struct From {
    kind: String,
    name: String,
}

/// The images of a release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ImageReferences {
    /// Name of the release.
    pub name: String,
    pub components: BTreeMap<String, Reference>,
}

impl ImageReferences {
    pub(crate) fn read(text: &[u8]) -> Result<Self, RegistryError> {
        let failed =
            |cause: String| RegistryError::Malformed(format!("its image-references can't be read, {cause}"));
        let stream: Stream = serde_json::from_slice(text).map_err(|error| failed(error.to_string()))?;
        if stream.kind != "ImageStream" {
            return Err(failed(format!("they are of kind {:?}", stream.kind)));
        }
        let mut components = BTreeMap::new();
        for Tag { name, from } in stream.spec.tags {
            // Other kinds point into a cluster, where no image of a release is.
            let Some(from) = from.filter(|from| from.kind == "DockerImage") else { continue };
            let reference = from.name.parse().map_err(|error| failed(format!("{name}: {error}")))?;
            components.insert(name, reference);
        }
        Ok(Self { name: stream.metadata.name, components })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tags: &serde_json::Value) -> Result<ImageReferences, RegistryError> {
        let stream = serde_json::json!({
            "kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "4.22.9", "creationTimestamp": null},
            "spec": {"lookupPolicy": {"local": false}, "tags": tags},
        });
        ImageReferences::read(stream.to_string().as_bytes())
    }

    #[test]
    fn tags() {
        let hex = "0".repeat(64);
        let image = format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{hex}");
        let found = read(&serde_json::json!([
            {"name": "installer", "annotations": {"a": "b"}, "from": {"kind": "DockerImage", "name": image}, "generation": 2},
            {"name": "other", "from": {"kind": "ImageStreamTag", "name": "x"}},
            {"name": "none"},
        ]))
        .unwrap();
        assert_eq!(found.name, "4.22.9");
        assert_eq!(
            found.components.into_iter().map(|(name, image)| (name, image.to_string())).collect::<Vec<_>>(),
            [("installer".to_owned(), image)]
        );
    }

    #[test]
    fn what_can_t_be_read() {
        let bad = serde_json::json!([{"name": "a", "from": {"kind": "DockerImage", "name": "nowhere"}}]);
        assert!(read(&bad).unwrap_err().to_string().contains("names no registry"));
        for text in ["", "{}", r#"{"kind":"List","metadata":{"name":""},"spec":{"tags":[]}}"#] {
            assert!(
                matches!(ImageReferences::read(text.as_bytes()), Err(RegistryError::Malformed(_))),
                "{text}"
            );
        }
    }
}
