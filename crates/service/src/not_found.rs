//! Refusals of requests about what is not there.

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::Refusal;
use assisted_wire::id::InfraEnvId;

/// 404: there is no such cluster.
pub(crate) fn no_cluster() -> Refusal {
    Refusal::not_found("record not found")
}

/// 404: there is no such host.
pub(crate) fn no_host(key: HostKey) -> Refusal {
    Refusal::not_found(format!("Host {} was not found in infra-env {}", key.host_id, key.infra_env_id))
}

/// 404: there is no such infra-env.
pub(crate) fn no_infra_env(_: InfraEnvId) -> Refusal {
    Refusal::not_found("record not found")
}
