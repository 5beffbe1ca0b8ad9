//! Requests to a management controller.

use std::time::Duration;

use assisted_base::http::{self, Proxies};
use assisted_wire::secret::Secret;
use reqwest::header::{ETAG, HeaderMap, HeaderValue, IF_MATCH};
use reqwest::{Client, Method};
use serde_json::Value;

use crate::resource::complaint;
use crate::{Access, RedfishError};

/// How long a controller may take to answer: they are slow, and inserting a medium may fetch all of it.
const ANSWER: Duration = Duration::from_secs(300);
/// Longest answer, in bytes.
const LONGEST: usize = 4 << 20;
const USER_AGENT: &str = concat!("assisted-bmc/", env!("CARGO_PKG_VERSION"));

/// A client of one controller.
#[derive(Debug)]
pub(crate) struct Connection {
    origin: String,
    user: String,
    password: Secret,
    http: Client,
}

impl Connection {
    pub(crate) fn new(access: &Access, origin: String) -> reqwest::Result<Self> {
        // Controllers stand on a network of their own: no proxy leads there.
        let http =
            http::builder(USER_AGENT, access.trust.clone(), &Proxies::None)?.timeout(ANSWER).build()?;
        Ok(Self { origin, user: access.user.clone(), password: access.password.clone(), http })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, RedfishError> {
        Ok(self.exchange(Method::GET, path, None, None).await?.1)
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<(), RedfishError> {
        self.exchange(Method::POST, path, Some(body), None).await.map(drop)
    }

    /// Changes a resource. Some controllers refuse a change that does not name the version that it changes.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<(), RedfishError> {
        let etag = self.exchange(Method::GET, path, None, None).await?.0.remove(ETAG);
        self.exchange(Method::PATCH, path, Some(body), etag).await.map(drop)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        etag: Option<HeaderValue>,
    ) -> Result<(HeaderMap, Value), RedfishError> {
        let url = self.url(path);
        let mut request =
            self.http.request(method.clone(), &url).basic_auth(&self.user, Some(self.password.expose()));
        if let Some(etag) = etag {
            request = request.header(IF_MATCH, etag);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut answer = match request.send().await {
            Ok(answer) => answer,
            Err(source) => return Err(RedfishError::Unreachable { url, source }),
        };
        let (status, headers) = (answer.status(), answer.headers().clone());
        let text = match http::read(&mut answer, LONGEST).await {
            Ok(text) => text,
            Err(source) => return Err(RedfishError::Body { url, source }),
        };
        // Actions answer without a body, and some refusals with a page for people.
        let content: Value = serde_json::from_slice(&text).unwrap_or_default();
        if !status.is_success() {
            return Err(RedfishError::Refused { url, method, status, said: complaint(&content) });
        }
        Ok((headers, content))
    }
}
