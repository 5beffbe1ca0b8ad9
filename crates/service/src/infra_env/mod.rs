//! Use cases of infra-envs: registering, changing, removing, and what their images and boot files are made of.

mod deregister;
mod discovery;
mod download;
mod image;
mod image_state;
mod ipxe;
mod links;
mod network;
mod object;
mod program;
mod ramdisk;
mod read;
mod register;
mod update;

use std::sync::Arc;

use assisted_config::Settings;

use crate::access::Access;
use crate::available_versions::AvailableVersions;
use crate::database::Database;
use crate::generator::{Generator, ReviewTurns};
use crate::parts::Parts;

pub use download::DownloadInfraEnvFiles;
pub use links::Links;
pub use program::PATH as PROGRAM_PATH;
pub use read::ListInfraEnvs;

use image_state::ImageProbe;
use network::KeyfileCache;
use program::HostPrograms;

/// The use cases of infra-envs.
pub struct InfraEnvs {
    database: Arc<Database>,
    settings: Arc<Settings>,
    generator: Arc<dyn Generator>,
    reviews: ReviewTurns,
    available: Arc<AvailableVersions>,
    access: Access,
    keyfiles: KeyfileCache,
    programs: HostPrograms,
    images: ImageProbe,
}

impl InfraEnvs {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            settings: Arc::clone(&parts.settings),
            generator: Arc::clone(&parts.generator),
            reviews: parts.reviews.clone(),
            available: Arc::clone(&parts.available),
            access: parts.access.clone(),
            keyfiles: KeyfileCache::default(),
            programs: HostPrograms::default(),
            images: ImageProbe::default(),
        }
    }
}
