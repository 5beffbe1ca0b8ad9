//! Requests to S3, repeated when the server or the way to it is at fault.

use std::error::Error;
use std::io;
use std::time::Duration;

use assisted_base::http::{BodyError, Proxies, Trust, builder};
use assisted_base::retry::{Attempts, Backoff, Jitter};
use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, HeaderMap};
use reqwest::{Response, StatusCode};
use rusty_s3::Method;
use url::Url;

use crate::error::AWAY;

const ATTEMPTS: u32 = 5;
const PAUSES: Backoff =
    Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(5), jitter: Jitter::Half };

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits(Duration);

impl Limits {
    /// For answers of a few MiB.
    pub(super) const READ: Self = Self(Duration::from_secs(60));
    /// For a part of a file that is put.
    pub(super) const WRITE: Self = Self(Duration::from_secs(300));
}

/// Makes requests.
#[derive(Debug)]
pub(super) struct Client(reqwest::Client);

impl Client {
    pub(super) fn new(trust: Trust) -> reqwest::Result<Self> {
        Ok(Self(builder("assisted", trust, &Proxies::FromEnvironment)?.build()?))
    }

    /// Makes a request to a signed address, again while there is no answer or one that says to come again.
    pub(super) async fn send(
        &self,
        method: Method,
        address: Url,
        headers: HeaderMap,
        body: Option<Bytes>,
        Limits(limit): Limits,
    ) -> io::Result<Response> {
        let method = reqwest::Method::from_bytes(method.to_str().as_bytes()).map_err(io::Error::other)?;
        let mut attempts = Attempts::new(ATTEMPTS, PAUSES);
        loop {
            let mut request =
                self.0.request(method.clone(), address.clone()).headers(headers.clone()).timeout(limit);
            if let Some(body) = &body {
                // Said also of a body without content, which servers insist on.
                request = request.header(CONTENT_LENGTH, body.len()).body(body.clone());
            }
            let error = match request.send().await {
                Ok(answer) if !is_passing(answer.status()) => return Ok(answer),
                Ok(answer) => away(format!("S3 answers with status {}", answer.status())),
                // The address holds what opens the bucket.
                Err(error) => away(error.without_url()),
            };
            attempts.again(error).await?;
        }
    }
}

/// Whether the same request may go well a moment later.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// The server, or the way to it, is at fault: the same may go well later.
fn away(error: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(AWAY, error)
}

/// Why an answer can't be read, without the address, which holds what opens the bucket.
pub(super) fn unread(error: BodyError) -> io::Error {
    match error {
        BodyError::Broken(error) => away(error.without_url()),
        other => io::Error::other(other),
    }
}
