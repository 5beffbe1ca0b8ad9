//! How a management controller is reached.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::RedfishError;

/// Address and credentials of a management controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Address of the machine at its controller: `https://192.0.2.1/redfish/v1/Systems/1`.
    pub system: String,
    pub user: String,
    /// File with the password, beside the list of machines.
    pub password_file: PathBuf,
    /// Whether any certificate will do: most controllers sign their own.
    #[serde(default)]
    pub insecure: bool,
}

impl Controller {
    /// The password; relative paths are below a folder.
    pub(super) fn password(&self, dir: &Path) -> Result<String, RedfishError> {
        let path = dir.join(&self.password_file);
        let text = std::fs::read_to_string(&path).map_err(|source| RedfishError::Password {
            url: self.system.clone(),
            path,
            source,
        })?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }
}
