//! Asking other servers than the service: with limits on time and length, and with the trust that the question says.

use std::time::Duration;

use assisted_base::error::chain;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

/// Limit for a whole answer that is read into memory.
const LIMIT: Duration = Duration::from_secs(60);

const MOST_REDIRECTS: usize = 10;

/// Whose certificates count.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The system's; proxies of the environment are used.
    #[default]
    System,
    /// These alone (PEM); no proxy is used.
    Only(Vec<u8>),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("unable to parse cert")]
    NoCertificate,
    #[error("request failed: {}", chain(.0))]
    Request(#[from] reqwest::Error),
    #[error("request failed: {0:?} is no address of a web server")]
    Url(String),
    #[error("request failed: the answer is longer than {0} bytes")]
    TooLong(usize),
}

/// A client with that trust. Only the time to connect is limited: what is asked may be large.
///
/// # Errors
/// When there are no certificates where some are needed.
pub fn client(trust: &Trust) -> Result<Client, HttpError> {
    assisted_client::install_crypto();
    let builder = Client::builder()
        .user_agent(concat!("assisted-agent/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(30))
        .redirect(Policy::limited(MOST_REDIRECTS));
    let builder = match trust {
        Trust::System => builder,
        Trust::Only(pem) => {
            let found = assisted_client::authorities(pem).map_err(|_| HttpError::NoCertificate)?;
            found
                .into_iter()
                .fold(builder.no_proxy().tls_built_in_root_certs(false), |builder, certificate| {
                    builder.add_root_certificate(certificate)
                })
        }
    };
    Ok(builder.build()?)
}

/// An address of a web server; files and whatever else have no place in a question.
///
/// # Errors
/// When it is none.
pub fn web_url(text: &str) -> Result<Url, HttpError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| HttpError::Url(text.chars().take(255).collect()))
}

/// A short answer: its status and its whole body, which is at most `longest` bytes.
///
/// # Errors
/// When no answer comes within a minute, or it is longer.
pub async fn get(
    client: &Client,
    url: Url,
    headers: HeaderMap,
    longest: usize,
) -> Result<(u16, Vec<u8>), HttpError> {
    let mut answer = client.get(url).headers(headers).timeout(LIMIT).send().await?;
    let status = answer.status().as_u16();
    Ok((status, body(&mut answer, longest).await?))
}

async fn body(answer: &mut Response, longest: usize) -> Result<Vec<u8>, HttpError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if bytes.len() + chunk.len() > longest {
            return Err(HttpError::TooLong(longest));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_servers_are_asked() {
        assert!(web_url("http://tang:7500").is_ok() && web_url("https://[fd00::1]/x").is_ok());
        for bad in ["", "tang:7500", "file:///etc/passwd", "http://", "ftp://h/x", "/x"] {
            assert!(web_url(bad).is_err(), "{bad}");
        }
    }
}
