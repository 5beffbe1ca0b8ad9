//! PEM, read the way `openssl` reads it: whatever that takes is taken here too.
//!
//! Lines have any length and any line end, blanks may stand at their ends; text before, between and after the blocks is
//! passed over. Certificates may bear the older labels `X509 CERTIFICATE` and `TRUSTED CERTIFICATE`. What is broken
//! (no end, another end, no base64) is refused. Other readers are stricter than this one, so what is handed on to them is
//! written again with [`write`].

mod block;
mod object;

pub use block::{Block, Blocks, blocks, write};
pub use object::{
    certificate_request, certificates, identity, is_certificate, plain, private_key, public_key,
    write_certificates,
};

/// Why a text can't be read. No part of a block is quoted: it may hold a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PemError {
    #[error("the block {0:?} has no end")]
    NoEnd(String),
    #[error("the block {0:?} ends as another one")]
    OtherEnd(String),
    #[error("the block {0:?} is not base64")]
    Encoding(String),
    #[error("the block {0:?} holds no DER")]
    NoDer(String),
    #[error("the private key is encrypted; give it without a passphrase")]
    Encrypted,
    #[error("there is no {0}")]
    Missing(&'static str),
}
