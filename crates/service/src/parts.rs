//! The handles that rooms and background tasks are made with.

use std::sync::Arc;

use assisted_auth::Accounts;
use assisted_blob::Blob;
use assisted_config::Settings;
use assisted_seal::Keyring;

use crate::access::Access;
use crate::available_versions::AvailableVersions;
use crate::database::Database;
use crate::dns::Domains;
use crate::generator::{Generator, ReviewTurns};

/// The parts that are shared; each room and each task takes what it needs.
pub(crate) struct Parts {
    pub(crate) settings: Arc<Settings>,
    pub(crate) database: Arc<Database>,
    pub(crate) blob: Blob,
    /// What seals the tokens in addresses of files.
    pub(crate) keys: Keyring,
    pub(crate) generator: Arc<dyn Generator>,
    pub(crate) reviews: ReviewTurns,
    pub(crate) available: Arc<AvailableVersions>,
    pub(crate) access: Access,
    /// The account service; `None`: nobody is known by it.
    pub(crate) accounts: Option<Arc<Accounts>>,
    pub(crate) dns: Arc<Domains>,
}
