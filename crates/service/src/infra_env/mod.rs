//! Infra-envs.

mod deregister;
mod image;
mod read;
mod register;
mod update;

use assisted_core::refusal::Refusal;
use assisted_wire::id::InfraEnvId;

pub use read::ListInfraEnvs;

/// 404: there is no such infra-env.
pub(crate) fn no_infra_env(_: InfraEnvId) -> Refusal {
    Refusal::not_found("record not found")
}
