//! Mirrors from the objects with which clusters are told of them: ImageDigestMirrorSet, ImageTagMirrorSet and the older
//! ImageContentSourcePolicy.

use serde::Deserialize;

use super::{Mirror, MirrorError, Mirrors, Pull, Rule};

/// Longest text that is read, in bytes.
const LONGEST: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    kind: String,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    image_digest_mirrors: Vec<Set>,
    image_tag_mirrors: Vec<Set>,
    repository_digest_mirrors: Vec<Set>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Set {
    source: String,
    #[serde(default)]
    mirrors: Vec<String>,
    #[serde(default)]
    mirror_source_policy: String,
}

impl Mirrors {
    /// Reads one or more such objects, in YAML or JSON. Objects of other kinds are passed over.
    ///
    /// # Errors
    ///
    /// See [`MirrorError`].
    pub fn from_image_sets(text: &str) -> Result<Self, MirrorError> {
        if text.len() > LONGEST {
            return Err(MirrorError::ImageSets(format!("they are longer than {LONGEST} bytes")));
        }
        let failed = |error: serde_yaml_ng::Error| MirrorError::ImageSets(error.to_string());
        let mut rules = Vec::new();
        for document in serde_yaml_ng::Deserializer::from_str(text) {
            let Some(object) = Option::<Object>::deserialize(document).map_err(failed)? else { continue };
            let Spec { image_digest_mirrors, image_tag_mirrors, repository_digest_mirrors } = object.spec;
            match object.kind.as_str() {
                "ImageDigestMirrorSet" => add(&mut rules, image_digest_mirrors, Pull::ByDigest),
                "ImageTagMirrorSet" => add(&mut rules, image_tag_mirrors, Pull::ByTag),
                "ImageContentSourcePolicy" => add(&mut rules, repository_digest_mirrors, Pull::ByDigest),
                _ => {}
            }
        }
        Self::new(rules)
    }
}

fn add(rules: &mut Vec<Rule>, sets: Vec<Set>, pull: Pull) {
    rules.extend(sets.into_iter().map(|set| Rule {
        prefix: set.source,
        location: None,
        blocked: set.mirror_source_policy == "NeverContactSource",
        insecure: false,
        mirrors: set.mirrors.into_iter().map(|location| Mirror { location, insecure: false, pull }).collect(),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: &str = "
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: image-mirror-set}
spec:
  imageDigestMirrors:
  - source: quay.io/openshift-release-dev/ocp-release
    mirrors: [mirror.lab:5000/ocp/release, mirror2.lab/ocp]
    mirrorSourcePolicy: NeverContactSource
---
kind: ConfigMap
---
---
apiVersion: operator.openshift.io/v1alpha1
kind: ImageContentSourcePolicy
spec:
  repositoryDigestMirrors:
  - source: quay.io/openshift-release-dev/ocp-v4.0-art-dev
    mirrors: [mirror.lab:5000/ocp/art]
---
kind: ImageTagMirrorSet
spec: {imageTagMirrors: [{source: ghcr.io, mirrors: [m.lab]}]}
";

    #[test]
    fn objects() {
        let mirrors = Mirrors::from_image_sets(SETS).unwrap();
        let prefixes: Vec<_> =
            mirrors.rules().iter().map(|rule| (rule.prefix.as_str(), rule.blocked)).collect();
        assert_eq!(
            prefixes,
            [
                ("quay.io/openshift-release-dev/ocp-release", true),
                ("quay.io/openshift-release-dev/ocp-v4.0-art-dev", false),
                ("ghcr.io", false),
            ]
        );
        assert_eq!(mirrors.rules()[2].mirrors[0].pull, Pull::ByTag);
        assert_eq!(mirrors.by_digest().len(), 2);
    }

    #[test]
    fn what_can_t_be_read() {
        for text in
            ["kind: [", "kind: ImageDigestMirrorSet\nspec: {imageDigestMirrors: [{mirrors: [a.b]}]}", "- a"]
        {
            assert!(matches!(Mirrors::from_image_sets(text), Err(MirrorError::ImageSets(_))), "{text}");
        }
        assert!(Mirrors::from_image_sets("").unwrap().is_empty());
    }
}
