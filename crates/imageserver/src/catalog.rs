//! The list of OS images that discovery images are made from (image-service §1.3).

use std::collections::BTreeMap;

use assisted_base::version::Version;
use serde::Deserialize;
use url::Url;

/// Why a list can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("the list of OS images is not the JSON that is needed: {0}")]
    Json(#[from] serde_json::Error),
    #[error("invalid versions: must not be empty")]
    Empty,
    #[error("an OS image lacks {key}")]
    Missing { key: &'static str },
    #[error("invalid image type: {0}")]
    Kind(String),
    #[error("the URL of OS image {version} is none: {source}")]
    Url {
        version: String,
        #[source]
        source: url::ParseError,
    },
    #[error("the sha256 of OS image {version} is not 64 hexadecimal digits")]
    Digest { version: String },
    #[error("{value:?} can't be part of a file name")]
    Name { value: String },
}

/// What a base image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum BaseKind {
    Full,
    Disconnected,
}

impl BaseKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full-iso",
            Self::Disconnected => "disconnected-iso",
        }
    }
}

/// An OS image that can be fetched.
#[derive(Clone, Debug)]
pub struct OsImage {
    /// Of OpenShift, such as `4.18`.
    pub openshift_version: String,
    /// `x86_64`, `arm64`, `ppc64le` or `s390x`.
    pub cpu_architecture: String,
    /// Version of the operating system's build.
    pub version: String,
    pub url: Url,
    /// What its bytes must come to.
    pub sha256: Option<[u8; 32]>,
    pub(crate) kind: BaseKind,
}

/// What a base image is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BaseKey {
    pub version: String,
    pub architecture: String,
    pub kind: BaseKind,
}

/// All OS images, in the order of the list.
#[derive(Clone, Debug)]
pub struct Catalog(Vec<OsImage>);

impl OsImage {
    pub(crate) fn key(&self) -> BaseKey {
        BaseKey {
            version: self.version.clone(),
            architecture: self.cpu_architecture.clone(),
            kind: self.kind,
        }
    }

    /// Whether nothing tells an image from one that was changed on its way.
    pub(crate) fn is_unproven(&self) -> bool {
        self.url.scheme() == "http" && self.sha256.is_none()
    }
}

/// An entry as it is written; keys that are not known say nothing.
#[derive(Deserialize)]
struct Entry {
    openshift_version: Option<String>,
    cpu_architecture: Option<String>,
    url: Option<String>,
    version: Option<String>,
    r#type: Option<String>,
    sha256: Option<String>,
}

impl Catalog {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// What is wrong with its first bad entry.
    pub fn parse(json: &str) -> Result<Self, CatalogError> {
        let entries: Vec<Entry> = serde_json::from_str(json)?;
        if entries.is_empty() {
            return Err(CatalogError::Empty);
        }
        entries.into_iter().map(Entry::read).collect::<Result<_, _>>().map(Self)
    }

    /// The first image of an architecture with that version of the build, else of OpenShift.
    pub(crate) fn find(&self, version: &str, architecture: &str) -> Option<&OsImage> {
        let architecture = usual(architecture);
        let all = || self.0.iter().filter(|image| image.cpu_architecture == architecture);
        all()
            .find(|image| image.version == version)
            .or_else(|| all().find(|image| image.openshift_version == version))
    }

    /// Each image that has to be fetched once; of several entries the one for the highest OpenShift counts.
    pub(crate) fn distinct(&self) -> Vec<&OsImage> {
        let mut found: BTreeMap<BaseKey, &OsImage> = BTreeMap::new();
        for image in &self.0 {
            let best = found.entry(image.key()).or_insert(image);
            let order = Version::parse(&image.openshift_version)
                .zip(Version::parse(&best.openshift_version))
                .map(|(one, other)| one.cmp(&other));
            if order.is_some_and(std::cmp::Ordering::is_ge) {
                *best = image;
            }
        }
        found.into_values().collect()
    }
}

impl Entry {
    fn read(self) -> Result<OsImage, CatalogError> {
        let needed = |value: Option<String>, key| value.ok_or(CatalogError::Missing { key });
        let openshift_version = needed(self.openshift_version, "openshift_version")?;
        let cpu_architecture = usual(&needed(self.cpu_architecture, "cpu_architecture")?).to_owned();
        let url = needed(self.url, "url")?;
        let version = needed(self.version, "version")?;
        for value in [&version, &cpu_architecture] {
            // Both are parts of file names.
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+~".contains(&byte);
            if value.is_empty() || value.len() > 100 || !value.bytes().all(plain) {
                return Err(CatalogError::Name { value: value.clone() });
            }
        }
        let kind = match self.r#type.as_deref() {
            None | Some("full-iso") => BaseKind::Full,
            Some("disconnected-iso") => BaseKind::Disconnected,
            Some(other) => return Err(CatalogError::Kind(other.to_owned())),
        };
        let url =
            Url::parse(&url).map_err(|source| CatalogError::Url { version: version.clone(), source })?;
        let sha256 = match self.sha256 {
            None => None,
            Some(text) => {
                Some(digest(&text).ok_or_else(|| CatalogError::Digest { version: version.clone() })?)
            }
        };
        Ok(OsImage { openshift_version, cpu_architecture, version, url, sha256, kind })
    }
}

/// The API service calls it so, whatever the list calls it.
fn usual(architecture: &str) -> &str {
    if architecture == "aarch64" { "arm64" } else { architecture }
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(openshift: &str, arch: &str, version: &str, more: &str) -> String {
        format!(
            r#"{{"openshift_version":"{openshift}","cpu_architecture":"{arch}","version":"{version}","url":"https://x/{openshift}"{more}}}"#
        )
    }

    fn catalog(entries: &[String]) -> Result<Catalog, CatalogError> {
        Catalog::parse(&format!("[{}]", entries.join(",")))
    }

    #[test]
    fn both_versions_find_an_image_and_the_build_comes_first() {
        let list = [
            entry("4.18", "x86_64", "418.1", ""),
            entry("4.18", "arm64", "418.2", ""),
            entry("418.1", "x86_64", "other", ""),
        ];
        let catalog = catalog(&list).unwrap();
        let find = |version, arch| catalog.find(version, arch).map(|image| image.version.as_str());
        assert_eq!(find("4.18", "x86_64"), Some("418.1"));
        assert_eq!(find("418.1", "x86_64"), Some("418.1"));
        assert_eq!(find("418.2", "arm64"), Some("418.2"));
        assert_eq!(find("418.2", "x86_64"), None);
        assert_eq!(find("4.18", "aarch64"), Some("418.2"));
        assert_eq!(find("4.1", "x86_64"), None);
    }

    #[test]
    fn of_doubles_the_highest_counts() {
        let disconnected = r#","type":"disconnected-iso""#;
        let list = [
            entry("4.9", "x86_64", "a", ""),
            entry("4.10", "x86_64", "a", r#","type":"full-iso""#),
            entry("4.8", "x86_64", "a", ""),
            entry("4.8", "x86_64", "a", disconnected),
            entry("nonsense", "x86_64", "b", ""),
            entry("4.11", "x86_64", "b", ""),
            entry("4.10", "arm64", "a", ""),
        ];
        let catalog = catalog(&list).unwrap();
        let found: Vec<_> = catalog
            .distinct()
            .into_iter()
            .map(|image| {
                (image.version.as_str(), image.cpu_architecture.as_str(), image.openshift_version.as_str())
            })
            .collect();
        assert_eq!(
            found,
            [
                ("a", "arm64", "4.10"),
                ("a", "x86_64", "4.10"),
                ("a", "x86_64", "4.8"),
                ("b", "x86_64", "nonsense")
            ]
        );
    }

    #[test]
    fn what_comes_by_plain_http_is_proven_by_its_digest_alone() {
        let digest = format!(r#","sha256":"{}""#, "ab".repeat(32));
        let url = |url: &str| format!(r#","url":"{url}""#);
        for (location, digest, expected) in [
            ("http://x/i", "", true),
            ("http://x/i", digest.as_str(), false),
            ("https://x/i", "", false),
            ("file:///i", "", false),
        ] {
            let entry = entry("4.18", "x86_64", "a", "");
            let entry = entry.replace(r#","url":"https://x/4.18""#, &(url(location) + digest));
            assert_eq!(catalog(&[entry]).unwrap().0[0].is_unproven(), expected, "{location}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refusal = |list: &[String]| catalog(list).unwrap_err().to_string();
        assert_eq!(refusal(&[]), "invalid versions: must not be empty");
        assert_eq!(
            refusal(&[r#"{"openshift_version":"4.18"}"#.to_owned()]),
            "an OS image lacks cpu_architecture"
        );
        assert_eq!(refusal(&[entry("4.18", "x86_64", "a", r#","type":"""#)]), "invalid image type: ");
        assert!(refusal(&[entry("4.18", "x86_64", "../a", "")]).contains("file name"));
        assert!(refusal(&[entry("4.18", "x86_64", "a", r#","sha256":"12""#)]).contains("64 hexadecimal"));
        assert!(Catalog::parse("{}").is_err());
        let good = format!(r#","sha256":"{}""#, "aB".repeat(32));
        assert_eq!(catalog(&[entry("4.18", "x86_64", "a", &good)]).unwrap().0[0].sha256, Some([0xab; 32]));
    }
}
