//! What is kept of a token: enough to know it again, too little to use it.

use sha2::{Digest, Sha256};

/// The SHA-256 of a token. Tokens are random or signed, so that nobody finds one by trying.
pub(crate) fn of(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
