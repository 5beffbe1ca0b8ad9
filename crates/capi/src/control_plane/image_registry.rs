//! Registries that stand in for others: what the installed cluster is told of them, as manifests (capi-providers §14).

use std::collections::BTreeMap;

use assisted_crd::config::common::ImageMirrors;
use assisted_crd::config::image_digest_mirror_set::{ImageDigestMirrorSet, ImageDigestMirrorSetSpec};
use assisted_crd::config::image_tag_mirror_set::{ImageTagMirrorSet, ImageTagMirrorSetSpec};
use serde_json::{Value, json};
use toml::Table;

const NAME: &str = "additional-registry";
const CERTIFICATE: &str = "additional-registry-certificate";

/// The members of the ConfigMap that is read.
pub(super) const REGISTRIES: &str = "registries.conf";
pub(super) const AUTHORITIES: &str = "ca-bundle.crt";

/// What stands in for one registry.
#[derive(Default)]
struct Mirrors {
    by_digest: Vec<ImageMirrors>,
    by_tag: Vec<ImageMirrors>,
    insecure: Vec<String>,
}

/// Manifests by their names, from a `registries.conf` and the authorities of its registries.
///
/// # Errors
/// It can't be read, or names no mirror.
pub(super) fn manifests(
    registries: &str,
    authorities: Option<&str>,
) -> Result<BTreeMap<String, String>, String> {
    let mirrors = read(registries)?;
    let mut manifests = BTreeMap::new();
    let mut add = |name: &str, manifest: &Value| manifests.insert(name.to_owned(), manifest.to_string());
    if !mirrors.by_digest.is_empty() {
        let spec = ImageDigestMirrorSetSpec { image_digest_mirrors: mirrors.by_digest };
        add("image-digest-mirror-set.json", &json!(ImageDigestMirrorSet::new(NAME, spec)));
    }
    if !mirrors.by_tag.is_empty() {
        let spec = ImageTagMirrorSetSpec { image_tag_mirrors: mirrors.by_tag };
        add("image-tag-mirror-set.json", &json!(ImageTagMirrorSet::new(NAME, spec)));
    }
    let mut settings = json!({});
    if let Some(authorities) = authorities.filter(|text| !text.is_empty()) {
        let certificate = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": CERTIFICATE, "namespace": "openshift-config"},
            "data": {AUTHORITIES: authorities},
        });
        add("additional-registry-certificate.json", &certificate);
        settings["additionalTrustedCA"] = json!({"name": CERTIFICATE});
    }
    if !mirrors.insecure.is_empty() {
        settings["registrySources"] = json!({"insecureRegistries": mirrors.insecure});
    }
    if settings != json!({}) {
        let image = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Image",
            "metadata": {"name": "cluster"}, "spec": settings,
        });
        add("image-config.json", &image);
    }
    Ok(manifests)
}

fn read(text: &str) -> Result<Mirrors, String> {
    let table: Table = text.parse().map_err(|_| {
        "failed to load value of registries.conf into toml tree; incorrectly formatted toml".to_owned()
    })?;
    let registries = table.get("registry").and_then(toml::Value::as_array);
    let registries = registries.ok_or_else(|| "failed to find registry key in toml tree".to_owned())?;
    let mut all = Mirrors::default();
    for registry in registries {
        let source = registry.get("location").and_then(toml::Value::as_str);
        let source = source
            .ok_or_else(|| "failed to parse image registry toml, missing registry location".to_owned())?;
        add(&mut all, source, registry).map_err(|error| {
            format!("failed to parse image mirror registry toml for registry {source}: {error}")
        })?;
    }
    if all.by_digest.is_empty() && all.by_tag.is_empty() {
        return Err("failed to find any image mirrors in registry.conf".to_owned());
    }
    Ok(all)
}

fn add(all: &mut Mirrors, source: &str, registry: &toml::Value) -> Result<(), String> {
    let mirrors = registry.get("mirror").and_then(toml::Value::as_array);
    let mirrors = mirrors.ok_or_else(|| {
        "failed to parse image registry toml, missing registry.mirror in registries.conf".to_owned()
    })?;
    let (mut by_digest, mut by_tag) = (Vec::new(), Vec::new());
    for mirror in mirrors {
        let location = mirror.get("location").and_then(toml::Value::as_str).ok_or_else(|| {
            "missing mirror registry location key or the value of location is not a string".to_owned()
        })?;
        let is_by_tag = mirror.get("pull-from-mirror").and_then(toml::Value::as_str) == Some("tag-only");
        let list = if is_by_tag { &mut by_tag } else { &mut by_digest };
        list.push(location.to_owned());
        if mirror.get("insecure").and_then(toml::Value::as_bool) == Some(true) {
            all.insecure.push(location.to_owned());
        }
    }
    let of = |mirrors: Vec<String>| {
        let entry = ImageMirrors { mirrors, source: source.to_owned(), ..ImageMirrors::default() };
        (!entry.mirrors.is_empty()).then_some(entry)
    };
    all.by_digest.extend(of(by_digest));
    all.by_tag.extend(of(by_tag));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(manifests: &BTreeMap<String, String>, name: &str) -> Value {
        serde_json::from_str(&manifests[name]).unwrap()
    }

    const CONF: &str = r#"
[[registry]]
location = "quay.io/openshift-release-dev"
[[registry.mirror]]
location = "mirror:5000/ocp"
insecure = true
[[registry.mirror]]
location = "mirror/tags"
pull-from-mirror = "tag-only"
"#;

    #[test]
    fn a_cluster_is_told_of_mirrors() {
        let all = manifests(CONF, Some("pem")).unwrap();
        let names: Vec<_> = all.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "additional-registry-certificate.json",
                "image-config.json",
                "image-digest-mirror-set.json",
                "image-tag-mirror-set.json"
            ]
        );
        let digests = value(&all, "image-digest-mirror-set.json");
        assert_eq!(digests["metadata"]["name"], "additional-registry");
        assert_eq!(
            digests["spec"]["imageDigestMirrors"],
            json!([{"source": "quay.io/openshift-release-dev", "mirrors": ["mirror:5000/ocp"]}])
        );
        let tags = value(&all, "image-tag-mirror-set.json");
        assert_eq!(
            tags["spec"]["imageTagMirrors"],
            json!([{"source": "quay.io/openshift-release-dev", "mirrors": ["mirror/tags"]}])
        );
        assert_eq!(
            value(&all, "image-config.json")["spec"],
            json!({"additionalTrustedCA": {"name": "additional-registry-certificate"},
                   "registrySources": {"insecureRegistries": ["mirror:5000/ocp"]}})
        );
        let certificate = value(&all, "additional-registry-certificate.json");
        assert_eq!(
            (&certificate["metadata"]["namespace"], &certificate["data"]["ca-bundle.crt"]),
            (&json!("openshift-config"), &json!("pem"))
        );
        let quiet = "[[registry]]\nlocation='a'\n[[registry.mirror]]\nlocation='b'";
        assert_eq!(manifests(quiet, None).unwrap().len(), 1);
    }

    #[test]
    fn what_can_t_be_read_is_told() {
        for (text, told) in [
            ("[[", "failed to load value of registries.conf into toml tree; incorrectly formatted toml"),
            ("a = 1", "failed to find registry key in toml tree"),
            ("[[registry]]\nprefix='a'", "failed to parse image registry toml, missing registry location"),
            (
                "[[registry]]\nlocation='a'",
                "failed to parse image mirror registry toml for registry a: failed to parse image registry toml, missing registry.mirror in registries.conf",
            ),
            (
                "[[registry]]\nlocation='a'\n[[registry.mirror]]\nlocation=1",
                "failed to parse image mirror registry toml for registry a: missing mirror registry location key or the value of location is not a string",
            ),
            ("[[registry]]\nlocation='a'\nmirror=[]", "failed to find any image mirrors in registry.conf"),
        ] {
            assert_eq!(manifests(text, None).unwrap_err(), told);
        }
    }
}
