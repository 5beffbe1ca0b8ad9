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
    annotations: Option<BTreeMap<String, String>>,
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
    /// Version of Kubernetes; none: it does not say.
    pub kubernetes: Option<String>,
}

/// Which versions of what an image was built from.
const VERSIONS: &str = "io.openshift.build.versions";

impl ImageReferences {
    pub(crate) fn read(text: &[u8]) -> Result<Self, RegistryError> {
        let failed =
            |cause: String| RegistryError::Malformed(format!("its image-references can't be read, {cause}"));
        let stream: Stream = serde_json::from_slice(text).map_err(|error| failed(error.to_string()))?;
        if stream.kind != "ImageStream" {
            return Err(failed(format!("they are of kind {:?}", stream.kind)));
        }
        let (mut components, mut kubernetes) = (BTreeMap::new(), None);
        for Tag { name, annotations, from } in stream.spec.tags {
            let versions = annotations.as_ref().and_then(|annotations| annotations.get(VERSIONS));
            let version = versions.and_then(|versions| versions.strip_prefix("kubernetes="));
            // A list of several is no single version.
            if let Some(version) = version.filter(|version| !version.contains(['=', ','])) {
                kubernetes.get_or_insert_with(|| version.to_owned());
            }
            // Other kinds point into a cluster, where no image of a release is.
            let Some(from) = from.filter(|from| from.kind == "DockerImage") else { continue };
            let reference = from.name.parse().map_err(|error| failed(format!("{name}: {error}")))?;
            components.insert(name, reference);
        }
        Ok(Self { name: stream.metadata.name, components, kubernetes })
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
            {"name": "several", "annotations": {"io.openshift.build.versions": "kubernetes=1.30.0,kubectl=1.30.0"}},
            {"name": "hyperkube", "annotations": {"io.openshift.build.versions": "kubernetes=1.33.4"}},
            {"name": "later", "annotations": {"io.openshift.build.versions": "kubernetes=1.33.5"}},
            {"name": "none", "annotations": null},
        ]))
        .unwrap();
        assert_eq!(found.kubernetes.as_deref(), Some("1.33.4"));
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
