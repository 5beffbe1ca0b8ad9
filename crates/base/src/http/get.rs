//! Asking other servers than the service: with limits on time and length, and with the trust that the question says.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::{BodyError, Proxies, Trust, authorities, builder, read};
use crate::error::chain;

/// Limit for a whole answer that is read into memory.
const LIMIT: Duration = Duration::from_secs(60);

const MOST_REDIRECTS: usize = 10;

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

impl From<BodyError> for HttpError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLong(longest) => Self::TooLong(longest),
            BodyError::Broken(error) => Self::Request(error),
        }
    }
}

/// A client that trusts the certificates of a text alone (PEM) and uses no proxy; without such a text it trusts what the
/// system does, and proxies of the environment are used. Only the time to connect is limited: what is asked may be large.
///
/// # Errors
/// When there are no certificates where some are needed.
pub fn client(user_agent: &str, authority: Option<&[u8]>) -> Result<Client, HttpError> {
    let (trust, proxies) = match authority {
        None => (Trust::System, Proxies::FromEnvironment),
        Some(pem) => {
            let only = authorities(pem).map_err(|_| HttpError::NoCertificate)?;
            (Trust::Only(only), Proxies::None)
        }
    };
    Ok(builder(user_agent, trust, &proxies)?.redirect(Policy::limited(MOST_REDIRECTS)).build()?)
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
    Ok((status, read(&mut answer, longest).await?))
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

    #[test]
    fn what_is_to_be_trusted_must_be_there() {
        assert!(matches!(client("tests", Some(b"nothing")), Err(HttpError::NoCertificate)));
    }
}
