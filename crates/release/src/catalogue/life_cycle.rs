//! How long each version is supported.

use assisted_wire::version::VersionSupportLevel;
use serde::Deserialize;

/// What the list of life cycles answers.
#[derive(Debug, Deserialize)]
pub(crate) struct LifeCycle {
    data: Vec<Product>,
}

#[derive(Debug, Deserialize)]
struct Product {
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Debug, Deserialize)]
struct Version {
    name: String,
    r#type: String,
}

impl LifeCycle {
    /// The level of a version, by major and minor; `None` when there is none.
    pub(crate) fn level(&self, base: &str) -> Option<VersionSupportLevel> {
        let mut versions = self.data.iter().flat_map(|product| &product.versions);
        match versions.find(|version| version.name == base)?.r#type.as_str() {
            "Full Support" => Some(VersionSupportLevel::Production),
            "Maintenance Support" => Some(VersionSupportLevel::Maintenance),
            "End of life" => Some(VersionSupportLevel::EndOfLife),
            _ => None,
        }
    }
}
