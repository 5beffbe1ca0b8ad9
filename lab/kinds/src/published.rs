//! The published definitions of kinds. `crates/crd` keeps those that the product uses, without what they say to people; whole ones, and more
//! of them, may be at hand beside the checkout.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Error, Kind};

/// Names another folder than that of the workspace.
const VARIABLE: &str = "ASSISTED_PUBLISHED_CRDS";

/// A folder of the workspace or beside it.
fn below(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

impl Kind {
    /// The published definition, if it is at hand or kept.
    ///
    /// # Errors
    /// It is no YAML.
    pub fn published(&self) -> Result<Option<Value>, Error> {
        let whole =
            std::env::var_os(VARIABLE).map_or_else(|| below("../shared/reference/crds"), PathBuf::from);
        let whole = whole.join(format!("{0}/{0}_{1}.yaml", self.group, self.plural));
        let kept = below("crates/crd/definitions").join(format!("{}/{}.yaml", self.group, self.plural));
        match std::fs::read_to_string(whole).or_else(|_| std::fs::read_to_string(kept)) {
            Ok(text) => Ok(Some(serde_yaml_ng::from_str(&text)?)),
            Err(_) => Ok(None),
        }
    }

    /// The published definition as an API takes it where nothing converts objects between versions: with this version alone. Of some the
    /// published ones have lost that their status is a subresource, as clusters have it.
    ///
    /// # Errors
    /// It is no YAML.
    pub fn published_alone(&self) -> Result<Option<Value>, Error> {
        let Some(mut definition) = self.published()? else { return Ok(None) };
        let spec = &mut definition["spec"];
        if let Some(versions) = spec["versions"].as_array_mut() {
            versions.retain(|version| version["name"] == self.version.as_str());
            for version in versions {
                version["served"] = true.into();
                version["storage"] = true.into();
                if self.status {
                    version["subresources"] = json!({"status": {}});
                }
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("conversion");
        }
        if let Some(definition) = definition.as_object_mut() {
            definition.remove("status");
        }
        Ok(Some(definition))
    }
}
