//! Why a client can't be made.

use assisted_base::http::TrustError;

/// Why a client can't be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("the service's address can't be used: {reason}")]
    BaseUrl { reason: String },
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("the {scheme} token holds characters that can't be sent in a header")]
    Token { scheme: &'static str },
    #[error("a proxy's address can't be used: {0}")]
    Proxy(#[source] reqwest::Error),
    #[error("can't set up HTTP: {0}")]
    Http(#[source] reqwest::Error),
}
