//! Use cases of infra-envs: registering, changing, removing, and what their images and boot files are made of.

mod deregister;
mod discovery;
mod download;
mod image;
mod ipxe;
mod network;
mod program;
mod ramdisk;
mod read;
mod register;
mod update;

use assisted_core::model::refusal::Refusal;
use assisted_wire::id::InfraEnvId;

pub(crate) use discovery::names_registries;
pub use download::DownloadInfraEnvFiles;
pub(crate) use network::Networks;
pub use program::PATH as PROGRAM_PATH;
pub(crate) use program::Programs;
pub use read::ListInfraEnvs;

/// 404: there is no such infra-env.
pub(crate) fn no_infra_env(_: InfraEnvId) -> Refusal {
    Refusal::not_found("record not found")
}
