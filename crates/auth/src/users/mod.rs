//! People: who they are, and what they show to be who they are.
//!
//! Everything stands in the database; of passwords and tokens only hashes. Each request looks its token up, so that what is
//! revoked is worthless at once, on all replicas.

mod external;
mod people;
mod session;
mod setup;
mod text;
mod tokens;

use std::time::Duration;

use assisted_store::{UserStore, WriteError};
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::limit::FailedLogins;
use crate::password::{HashError, Passwords};

pub use session::{Authenticated, SESSION_LIFE};
pub use setup::SETUP_LIFE;
pub use tokens::LONGEST_LIFE;

/// Why something is not done for a person.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// Name, password or code are wrong; which of them is nobody's business.
    #[error("{0}")]
    Wrong(&'static str),
    #[error("too many log-ins have failed; try again in {} s", .wait.as_secs().saturating_add(1))]
    TooMany { wait: Duration },
    /// What is asked for can't be.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("there is no {0}")]
    Missing(String),
    #[error("there is a user {0:?} already")]
    Taken(String),
    #[error(transparent)]
    Store(#[from] assisted_store::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error("a scope can't be written down")]
    Scope(#[from] serde_json::Error),
}

/// The people of a service.
pub struct Users {
    store: UserStore,
    passwords: Passwords,
    failed: FailedLogins,
}

impl Users {
    /// # Errors
    ///
    /// No password can be hashed here.
    pub fn new(store: UserStore) -> Result<Self, HashError> {
        Ok(Self { store, passwords: Passwords::new()?, failed: FailedLogins::default() })
    }
}

/// A new token: 256 random bits behind a prefix by which scanners for leaked secrets find it.
fn new_token() -> Secret {
    format!("asst_{}", BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())).into()
}
