//! A host's key as columns and parameters.

use assisted_core::model::host::HostKey;
use assisted_wire::id::{HostId, InfraEnvId};

use crate::error::Error;
use crate::value::{Row, Value};

/// A host's key as it stands in two columns, the first of which is given.
pub(crate) fn read(row: &Row, index: usize) -> Result<HostKey, Error> {
    Ok(HostKey { infra_env_id: InfraEnvId(row.uuid(index)?), host_id: HostId(row.uuid(index + 1)?) })
}

/// The key as two parameters.
pub(crate) fn params(key: HostKey) -> Vec<Value> {
    vec![key.infra_env_id.0.into(), key.host_id.0.into()]
}
