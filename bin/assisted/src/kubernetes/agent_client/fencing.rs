//! Credentials by which a node can be fenced: those of its BMC.

use std::path::Path;

use assisted_console::{Failure, file};
use assisted_wire::host_params::{CertificateVerification, FencingCredentialsParams};
use assisted_wire::secret::Secret;
use serde::Deserialize;

/// Whose the credentials are, and what they are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Credentials {
    #[serde(default)]
    pub hostname: String,
    #[serde(default, rename = "macaddress")]
    pub mac_address: String,
    address: String,
    username: String,
    password: Secret,
    #[serde(default)]
    certificate_verification: Option<CertificateVerification>,
}

impl Credentials {
    /// As a request has them.
    pub fn params(&self) -> FencingCredentialsParams {
        FencingCredentialsParams {
            address: self.address.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            certificate_verification: self.certificate_verification,
            mac_address: None,
        }
    }
}

/// The credentials of a file; none of one that is not there.
pub fn read(path: &Path) -> Result<Vec<Credentials>, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct All {
        credentials: Vec<Credentials>,
    }
    if !path.exists() {
        return Ok(Vec::new());
    }
    let read: Result<All, _> = serde_yaml_ng::from_str(&file(path)?);
    // The cause could quote a password.
    read.map(|all| all.credentials).map_err(|_| {
        Failure::Usage(format!(
            "{} is no list `credentials`, each with hostname or macaddress, address, username, password and, if wanted, \
             certificateVerification",
            path.display()
        ))
    })
}
