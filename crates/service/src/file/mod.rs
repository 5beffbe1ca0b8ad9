//! Files that clients fetch: what is generated for a cluster and for its hosts (service-api §7).

mod credentials;
mod download;
mod ingress;
pub mod log;
pub mod manifest;
mod presigned;

use std::sync::Arc;

use assisted_blob::Blob;
use assisted_config::Settings;
use assisted_seal::Keyring;

use crate::access::Access;
use crate::database::Database;
use crate::keyed_mutex::KeyedMutex;
use crate::parts::Parts;
use log::LogRoom;

pub use crate::stored_file::{Content, File};
pub use presigned::{InfraEnvFile, PRESIGNED_PATH, PRESIGNED_TOKEN, PresignedFile};

/// The use cases of files: what was generated, logs, and manifests.
pub struct Files {
    database: Arc<Database>,
    blob: Blob,
    /// What seals the tokens in addresses of files.
    keys: Keyring,
    settings: Arc<Settings>,
    access: Access,
    /// Held by changes of manifests.
    manifests: KeyedMutex,
    /// What all logs may take.
    log_room: LogRoom,
}

impl Files {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            blob: parts.blob.clone(),
            keys: parts.keys.clone(),
            settings: Arc::clone(&parts.settings),
            access: parts.access.clone(),
            manifests: KeyedMutex::default(),
            log_room: LogRoom::new(parts.settings.limits.logs),
        }
    }
}
