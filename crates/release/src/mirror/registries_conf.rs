//! Mirrors from a `registries.conf`, in its form with `[[registry]]` tables.

use serde::Deserialize;

use super::{Mirror, MirrorError, Mirrors, Pull, Rule};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Document {
    #[serde(default)]
    registry: Vec<Registry>,
    registries: Option<toml::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Registry {
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    mirror_by_digest_only: bool,
    #[serde(default)]
    mirror: Vec<RegistryLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RegistryLocation {
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    pull_from_mirror: Option<From>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum From {
    All,
    DigestOnly,
    TagOnly,
}

impl Mirrors {
    /// Reads a `registries.conf`. What does not concern mirrors is passed over.
    ///
    /// A mirror that does not say what is read from it has digests only, as in clusters (install-generation §2.3).
    ///
    /// # Errors
    ///
    /// See [`MirrorError`].
    pub fn from_registries_conf(text: &str) -> Result<Self, MirrorError> {
        let document: Document =
            toml::from_str(text).map_err(|error| MirrorError::RegistriesConf(error.message().to_owned()))?;
        if document.registries.is_some() {
            return Err(MirrorError::OldForm);
        }
        let rules = document.registry.into_iter().filter_map(rule);
        Self::new(rules)
    }
}

fn rule(registry: Registry) -> Option<Rule> {
    let Registry { prefix, location, insecure, blocked, mirror_by_digest_only, mirror } = registry;
    let mirrors = mirror.into_iter().map(|place| Mirror {
        location: place.location,
        insecure: place.insecure,
        pull: match place.pull_from_mirror {
            Some(From::All) if !mirror_by_digest_only => Pull::All,
            Some(From::TagOnly) => Pull::ByTag,
            _ => Pull::ByDigest,
        },
    });
    let (prefix, location) = match (prefix.as_str(), location.as_str()) {
        ("", "") => return None,
        ("", _) => (location, None),
        (_, "") => (prefix, None),
        _ if prefix == location => (prefix, None),
        _ => (prefix, Some(location)),
    };
    Some(Rule { prefix, location, blocked, insecure, mirrors: mirrors.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = r#"
unqualified-search-registries = ["registry.access.redhat.com"]

[[registry]]
location = "quay.io/openshift-release-dev/ocp-release"
mirror-by-digest-only = true
  [[registry.mirror]]
  location = "mirror.lab:5000/ocp/release"
  insecure = true
  [[registry.mirror]]
  location = "mirror2.lab/ocp/release"
  pull-from-mirror = "tag-only"
  [[registry.mirror]]
  location = "mirror3.lab"
  pull-from-mirror = "all"

[[registry]]
prefix = "*.example.com"
blocked = true

[[registry]]
insecure = true
"#;

    #[test]
    fn tables() {
        let mirrors = Mirrors::from_registries_conf(CONF).unwrap();
        let [release, example] = mirrors.rules() else { panic!("{mirrors:?}") };
        assert_eq!(release.prefix, "quay.io/openshift-release-dev/ocp-release");
        let read: Vec<_> =
            release.mirrors.iter().map(|m| (m.location.as_str(), m.insecure, m.pull)).collect();
        assert_eq!(
            read,
            [
                ("mirror.lab:5000/ocp/release", true, Pull::ByDigest),
                ("mirror2.lab/ocp/release", false, Pull::ByTag),
                ("mirror3.lab", false, Pull::ByDigest),
            ]
        );
        assert!(example.blocked && example.prefix == "*.example.com");
    }

    #[test]
    fn what_can_t_be_read() {
        assert_eq!(
            Mirrors::from_registries_conf("[registries.search]\nregistries = []"),
            Err(MirrorError::OldForm)
        );
        assert!(Mirrors::from_registries_conf("").unwrap().is_empty());
        for text in [
            "[[registry]]\nlocation = 1",
            "[[registry",
            "[[registry]]\nlocation='a.b'\n[[registry.mirror]]\nlocation='c.d'\npull-from-mirror='some'",
        ] {
            assert!(
                matches!(Mirrors::from_registries_conf(text), Err(MirrorError::RegistriesConf(_))),
                "{text}"
            );
        }
        let place = "[[registry]]\nlocation='a.b'\n[[registry.mirror]]\nlocation='https://c'";
        assert!(matches!(Mirrors::from_registries_conf(place), Err(MirrorError::Place { .. })));
    }
}
