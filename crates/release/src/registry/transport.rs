//! HTTP to registries: trust, proxies, time limits, redirects; and what its failures mean.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::error::{find, root_cause};
use assisted_base::http::{Addresses, Proxies, Trust, builder, certificates};
use http::StatusCode;
use reqwest::redirect::Policy;
use rustls::CertificateError;

use super::retry;
use crate::error::{Certificate, RegistryError};

/// What a registry redirects through, at the most.
const MOST_REDIRECTS: usize = 5;

/// How registries are reached.
#[derive(Clone, Debug)]
pub struct Transport {
    /// Authorities that are trusted besides those of the system: certificates in PEM form, one text per bundle.
    pub trusted: Vec<String>,
    pub proxies: Proxies,
    /// How long a connection may take to be made.
    pub connect: Duration,
    /// How long nothing may arrive.
    pub silence: Duration,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            trusted: Vec::new(),
            proxies: Proxies::default(),
            connect: Duration::from_secs(15),
            silence: Duration::from_secs(60),
        }
    }
}

impl Transport {
    /// A client that keeps to these addresses; one that checks no certificates if `insecure`.
    pub(crate) fn client(
        &self,
        insecure: bool,
        addresses: &Addresses,
    ) -> Result<reqwest::Client, RegistryError> {
        let failed = |error: reqwest::Error| RegistryError::Settings(cause(&error));
        let mut authorities = Vec::new();
        for bundle in &self.trusted {
            let found = certificates(bundle.as_bytes());
            authorities.extend(found.map_err(|error| RegistryError::Settings(error.to_string()))?);
        }
        let trust = if insecure { Trust::Any } else { Trust::Also(authorities) };
        let client = builder(concat!("assisted/", env!("CARGO_PKG_VERSION")), trust, &self.proxies);
        let client = client
            .map_err(failed)?
            .connect_timeout(self.connect)
            .read_timeout(self.silence)
            .pool_idle_timeout(Duration::from_secs(60))
            .redirect(follow(addresses.clone()))
            .dns_resolver(Arc::new(addresses.clone()))
            // Layers come as they are; and one big download is quicker on a connection of its own.
            .no_gzip()
            .http1_only();
        client.build().map_err(failed)
    }
}

/// Redirects go on with TLS where they came from TLS, to addresses that a server may name, and come to an end. Credentials go
/// to no other host.
fn follow(addresses: Addresses) -> Policy {
    Policy::custom(move |attempt| {
        let from = attempt.previous().last().map(|url| url.scheme().to_owned());
        let downgraded = from.as_deref() == Some("https") && attempt.url().scheme() != "https";
        let is_last = attempt.previous().len() > MOST_REDIRECTS;
        if downgraded || is_last || !addresses.allows(attempt.url()) {
            // The redirect itself is then the answer, which no caller takes.
            return attempt.stop();
        }
        attempt.follow()
    })
}

/// What a request that got no answer failed of.
pub(super) fn failure(error: &reqwest::Error) -> RegistryError {
    match find(error) {
        Some(rustls::Error::InvalidCertificate(reason)) => RegistryError::Certificate(match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Certificate::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Certificate::NotYetValid
            }
            CertificateError::UnknownIssuer => Certificate::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Certificate::WrongName
            }
            other => Certificate::Other(other.to_string()),
        }),
        _ => RegistryError::Unreachable(cause(error)),
    }
}

/// What an answer means that is neither success nor a question for credentials.
pub(super) fn refusal(answer: &reqwest::Response) -> RegistryError {
    let status = answer.status();
    match status {
        StatusCode::FORBIDDEN => RegistryError::Forbidden,
        StatusCode::NOT_FOUND => RegistryError::NoImage,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            RegistryError::Throttled(retry::retry_after(answer.headers()))
        }
        status if status.is_server_error() => RegistryError::Server(status.as_u16()),
        status if status.is_redirection() => {
            let to = answer.headers().get(http::header::LOCATION).and_then(|to| to.to_str().ok());
            // What follows the question mark may be a signature.
            let to = to.unwrap_or_default().split('?').next().unwrap_or_default();
            RegistryError::Redirect(to.chars().take(200).collect())
        }
        status => RegistryError::Status(status.as_u16()),
    }
}

/// The innermost reason of an error: what people know it by.
pub(super) fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "nothing arrived in time".to_owned();
    }
    root_cause(error)
}
