//! The version of the trusted platform module (agent-protocol §3.12).

use std::io;

use assisted_wire::inventory::TpmVersion;

use crate::Root;

/// `None` where it can't be known.
pub(crate) fn version(root: &Root) -> Option<TpmVersion> {
    match root.raw_text("/sys/class/tpm/tpm0/tpm_version_major") {
        Ok(major) => match major.trim() {
            "1" => Some(TpmVersion::V1_2),
            "2" => Some(TpmVersion::V2_0),
            _ => None,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(TpmVersion::None),
        Err(_) => None,
    }
}
