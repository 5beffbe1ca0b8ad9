//! The published definitions of kinds, where they are at hand: they are others', and no part of this project.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Error, Kind};

/// Names another folder than that of the workspace.
const VARIABLE: &str = "ASSISTED_PUBLISHED_CRDS";

/// The folder with published definitions: in a folder for each group a file for each kind, `GROUP_PLURAL.yaml`.
pub fn folder() -> PathBuf {
    match std::env::var_os(VARIABLE) {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/crds"),
    }
}

impl Kind {
    /// The published definition, if it is at hand.
    ///
    /// # Errors
    /// It is no YAML.
    pub fn published(&self) -> Result<Option<Value>, Error> {
        let name = format!("{0}/{0}_{1}.yaml", self.group, self.plural);
        match std::fs::read_to_string(folder().join(name)) {
            Ok(text) => Ok(Some(serde_yaml_ng::from_str(&text)?)),
            Err(_) => Ok(None),
        }
    }

    /// The published definition as an API takes it where nothing converts objects between versions: with this version alone.
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
