//! Asking those who know people: short questions and answers, with limits on time and length.

use std::time::Duration;

use assisted_base::http::{self, BodyError, Proxies, Trust};
use reqwest::{Client, RequestBuilder, Url};
use serde::de::DeserializeOwned;

/// Limit for a whole answer: somebody waits for it.
const LIMIT: Duration = Duration::from_secs(10);

/// Most bytes of an answer.
pub(crate) const LONGEST: usize = 1 << 20;

/// Why there is no answer. What was sent does not show.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{0:?} is no address of a web server")]
    Url(String),
    /// What is sent would be read on its way.
    #[error("{0:?} is reached without TLS: give an https:// address")]
    Plain(String),
    #[error("{0} does not answer")]
    Unreachable(String, #[source] reqwest::Error),
    #[error("the answer of {0} can't be read")]
    Body(String, #[source] BodyError),
    #[error("{host} answers with status {status}")]
    Status { host: String, status: u16 },
    #[error("the answer of {0} is not of the form that is wanted")]
    Form(String),
    #[error("no HTTP client can be made")]
    Client(#[from] reqwest::Error),
}

/// A client that follows no redirect.
pub(crate) fn client(trust: Trust) -> Result<Client, FetchError> {
    let builder = http::builder("assisted", trust, &Proxies::FromEnvironment)?;
    Ok(builder.timeout(LIMIT).build()?)
}

/// An address that secrets are sent to: by TLS, but on this machine.
pub(crate) fn safe_url(text: &str) -> Result<Url, FetchError> {
    let url = web_url(text)?;
    let here = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    if url.scheme() == "https" || here { Ok(url) } else { Err(FetchError::Plain(text.to_owned())) }
}

/// An address of a web server.
pub(crate) fn web_url(text: &str) -> Result<Url, FetchError> {
    http::web_url(text).map_err(|_| FetchError::Url(text.chars().take(255).collect()))
}

/// A whole answer whose status is one of success.
pub(crate) async fn get(client: &Client, url: Url, longest: usize) -> Result<Vec<u8>, FetchError> {
    let host = host(&url);
    let (status, body) = send(client.get(url), &host, longest).await?;
    if (200..300).contains(&status) { Ok(body) } else { Err(FetchError::Status { host, status }) }
}

/// Status and body of an answer.
pub(crate) async fn send(
    request: RequestBuilder,
    host: &str,
    longest: usize,
) -> Result<(u16, Vec<u8>), FetchError> {
    let told = |error: reqwest::Error| FetchError::Unreachable(host.to_owned(), error.without_url());
    let mut answer = request.send().await.map_err(told)?;
    let status = answer.status().as_u16();
    let body = http::read(&mut answer, longest).await;
    Ok((status, body.map_err(|error| FetchError::Body(host.to_owned(), error))?))
}

/// An answer that is JSON.
pub(crate) async fn json<T: DeserializeOwned>(request: RequestBuilder, host: &str) -> Result<T, FetchError> {
    let (status, body) = send(request, host, LONGEST).await?;
    if !(200..300).contains(&status) {
        return Err(FetchError::Status { host: host.to_owned(), status });
    }
    serde_json::from_slice(&body).map_err(|_| FetchError::Form(host.to_owned()))
}

/// The host of an address, by which errors and logs name it.
pub(crate) fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}
