//! One request, from the operation's row in the table to the decoded answer.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use assisted_base::http::{BodyError, read};
use assisted_wire::operation::{Location, Method, Operation, OperationId, Scheme};
use assisted_wire::secret::Secret;
use bytes::Bytes;
use reqwest::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LINK, LOCATION, RETRY_AFTER,
};
use reqwest::{Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::debug;
use uuid::Uuid;

use crate::builder::Client;
use crate::error::{Error, ErrorBody, ErrorResponse, Failure};
use crate::form::FormFile;

/// Longest body of a refusal that is read, in bytes.
const LONGEST_REFUSAL: usize = 64 << 10;

/// What a request carries.
#[derive(Debug)]
pub(crate) enum Body {
    Json(Bytes),
    File(FormFile),
}

/// A request being made; [`Client::call`] begins one, `send` and its kin end it.
#[derive(Debug)]
#[must_use = "a call does nothing until it is sent"]
pub struct Call<'a> {
    client: &'a Client,
    operation: &'static Operation,
    path: Vec<(&'static str, String)>,
    query: Vec<(&'static str, String)>,
    headers: Vec<(&'static str, String)>,
    secrets: Vec<(&'static str, Secret)>,
    body: Option<Result<Body, String>>,
    request_id: Option<Uuid>,
}

impl Client {
    /// Begins a request for any operation of the contract.
    pub fn call(&self, id: OperationId) -> Call<'_> {
        Call::new(self, id.operation())
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(client: &'a Client, operation: &'static Operation) -> Self {
        Self {
            client,
            operation,
            path: Vec::new(),
            query: Vec::new(),
            headers: Vec::new(),
            secrets: Vec::new(),
            body: None,
            request_id: None,
        }
    }

    /// A parameter of the path.
    pub fn path(mut self, name: &'static str, value: impl Display) -> Self {
        self.path.push((name, value.to_string()));
        self
    }

    /// A parameter of the query; `None` leaves it out.
    pub fn query(mut self, name: &'static str, value: Option<impl Display>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// A parameter of the query that takes several values, left out when there is none. How they are written down
    /// (repeated, or separated by commas) is the table's business.
    pub fn query_list<T: Display>(mut self, name: &'static str, values: &[T]) -> Self {
        let multi = self.operation.params.iter().any(|param| param.name == name && param.multi);
        let mut texts = values.iter().map(ToString::to_string);
        if multi {
            self.query.extend(texts.map(|text| (name, text)));
        } else if let Some(first) = texts.next() {
            let all = texts.fold(first, |all, text| all + "," + &text);
            self.query.push((name, all));
        }
        self
    }

    /// A header; `None` leaves it out.
    pub fn header(mut self, name: &'static str, value: Option<impl Display>) -> Self {
        self.headers.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// A header that nobody else may see; `None` leaves it out.
    pub fn secret_header(mut self, name: &'static str, value: Option<&Secret>) -> Self {
        self.secrets.extend(value.map(|value| (name, value.clone())));
        self
    }

    /// The JSON body.
    pub fn json<T: Serialize + ?Sized>(mut self, body: &T) -> Self {
        let written = serde_json::to_vec(body);
        self.body = Some(written.map(|json| Body::Json(json.into())).map_err(|error| error.to_string()));
        self
    }

    /// A file as the only field of a form, read as it is sent; no limit on time but the connection's.
    pub fn file(mut self, field: &'static str, path: impl Into<PathBuf>) -> Self {
        self.body = Some(Ok(Body::File(FormFile::new(field, path.into()))));
        self
    }

    /// The id under which the service logs the request; a fresh one for each call unless told otherwise.
    pub fn request_id(mut self, id: Uuid) -> Self {
        self.request_id = Some(id);
        self
    }

    /// Sends the request and decodes the answer.
    pub async fn send<T: DeserializeOwned>(self) -> Result<T, Error> {
        self.send_with_headers().await.map(|(value, _)| value)
    }

    /// Like [`Call::send`], for answers whose headers matter.
    pub async fn send_with_headers<T: DeserializeOwned>(self) -> Result<(T, HeaderMap), Error> {
        let operation = self.operation.name;
        let (body, headers) = self.send_bytes().await?;
        let value = serde_json::from_slice(&body).map_err(|source| Error::Malformed { operation, source })?;
        Ok((value, headers))
    }

    /// Sends the request; the answer has no content, or none that matters.
    pub async fn send_empty(self) -> Result<(), Error> {
        self.send_bytes().await.map(drop)
    }

    async fn send_bytes(self) -> Result<(Vec<u8>, HeaderMap), Error> {
        let (operation, shared) = (self.operation.name, &self.client.shared);
        let mut response = self.execute(true).await?;
        let body = whole(&mut response, shared.longest_answer, operation, shared.base.authority()).await?;
        Ok((body, std::mem::take(response.headers_mut())))
    }

    /// Sends the request and hands out the answer's body piece by piece, however long it is.
    pub async fn download(self) -> Result<Download, Error> {
        let operation = self.operation.name;
        let authority = self.client.shared.base.authority().to_owned();
        let response = self.execute(false).await?;
        Ok(Download { operation, authority, response })
    }

    async fn execute(self, timed: bool) -> Result<Response, Error> {
        let operation = self.operation;
        let method = match operation.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Patch => reqwest::Method::PATCH,
            Method::Delete => reqwest::Method::DELETE,
        };
        let target = Target { name: operation.name, method, url: self.url()? };
        let request_id = self.request_id.unwrap_or_else(Uuid::new_v4);
        let headers = self.headers(request_id)?;
        let body = match self.body {
            Some(Err(reason)) => return Err(Error::Request { operation: operation.name, reason }),
            Some(Ok(body)) => Some(body),
            None => None,
        };
        let timed = timed && !matches!(body, Some(Body::File(_)));
        let mut repetition = 0;
        loop {
            let error = match attempt(self.client, &target, &headers, &body, timed, request_id).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let Some(pause) = self.client.shared.retry.pause(repetition, operation, &error) else {
                return Err(error);
            };
            debug!(operation = operation.name, %error, repetition, ?pause, "trying again");
            tokio::time::sleep(pause).await;
            repetition += 1;
        }
    }

    fn url(&self) -> Result<Url, Error> {
        let base = &self.client.shared.base;
        let mut url = base
            .join(self.operation.path, &self.path)
            .map_err(|parameter| Error::Argument { operation: self.operation.name, parameter })?;
        let credential = match self.credential() {
            Some((Location::Query, name, value)) => Some((name, value)),
            _ => None,
        };
        if !self.query.is_empty() || credential.is_some() {
            let mut pairs = url.query_pairs_mut();
            pairs.extend_pairs(&self.query);
            pairs.extend_pairs(credential);
        }
        Ok(url)
    }

    fn headers(&self, request_id: Uuid) -> Result<HeaderMap, Error> {
        let fault =
            |reason: &str| Error::Request { operation: self.operation.name, reason: reason.to_owned() };
        let mut headers = HeaderMap::new();
        let id = HeaderValue::from_str(&request_id.to_string()).map_err(|_| fault("request id"))?;
        headers.insert("x-request-id", id);
        for (name, value) in &self.headers {
            let value = HeaderValue::from_str(value)
                .map_err(|_| fault(&format!("{name} can't stand in a header")))?;
            headers.insert(*name, value);
        }
        for (name, value) in &self.secrets {
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| fault(name))?;
            value.set_sensitive(true);
            headers.insert(*name, value);
        }
        if let Some((Location::Header, name, value)) = self.credential() {
            let mut value = HeaderValue::from_str(&value).map_err(|_| fault("token"))?;
            value.set_sensitive(true);
            let name = reqwest::header::HeaderName::from_bytes(name.as_bytes()).map_err(|_| fault(name))?;
            headers.insert(name, value);
        }
        match &self.body {
            Some(Ok(Body::File(file))) => {
                let value = HeaderValue::from_str(&file.content_type()).map_err(|_| fault("content type"))?;
                headers.insert(CONTENT_TYPE, value);
            }
            Some(_) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            }
            None => {}
        }
        Ok(headers)
    }

    /// The first credential that the operation accepts and the client has: where it travels, and as what.
    fn credential(&self) -> Option<(Location, &'static str, String)> {
        let known = &self.client.shared.credentials;
        let (scheme, token) = self
            .operation
            .security
            .iter()
            .find_map(|accepted| known.iter().find(|(scheme, _)| *scheme == accepted.scheme))?;
        let (location, name) = scheme.carrier();
        let text = match scheme {
            Scheme::User => format!("Bearer {}", token.expose()),
            _ => token.expose().to_owned(),
        };
        Some((location, name, text))
    }
}

/// Method and address of a request.
pub(crate) struct Target {
    /// What it is called in errors.
    pub(crate) name: &'static str,
    pub(crate) method: reqwest::Method,
    pub(crate) url: Url,
}

/// Sends a request once.
pub(crate) async fn attempt(
    client: &Client,
    target: &Target,
    headers: &HeaderMap,
    body: &Option<Body>,
    timed: bool,
    request_id: Uuid,
) -> Result<Response, Error> {
    let operation = target.name;
    let mut request = client.http.request(target.method.clone(), target.url.clone()).headers(headers.clone());
    match body {
        Some(Body::Json(json)) => request = request.body(json.clone()),
        Some(Body::File(file)) => {
            let (length, stream) =
                file.open().await.map_err(|error| Error::Request { operation, reason: error.to_string() })?;
            request = request.header(CONTENT_LENGTH, length).body(stream);
        }
        None => {}
    }
    if !timed {
        request = request.timeout(Duration::MAX);
    }
    let mut response = request
        .send()
        .await
        .map_err(|error| Error::unreachable(operation, client.shared.base.authority(), error))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let text = |name| {
        let value: Option<&HeaderValue> = response.headers().get(name);
        value.and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let content_type = text(CONTENT_TYPE);
    let location = text(LOCATION);
    let retry_after = text(RETRY_AFTER).and_then(|value| value.parse().ok()).map(Duration::from_secs);
    let section = text(LINK).as_deref().and_then(crate::error::section);
    // A refusal counts even where its body can't be read.
    let body = match read(&mut response, LONGEST_REFUSAL).await {
        Ok(body) => ErrorBody::read(content_type.as_deref(), &body),
        Err(_) => ErrorBody::Foreign { excerpt: String::new() },
    };
    let status = response.status().as_u16();
    Err(Error::Refused(Box::new(ErrorResponse {
        operation,
        status,
        body,
        request_id,
        location,
        retry_after,
        section,
    })))
}

/// The whole body of an answer.
pub(crate) async fn whole(
    response: &mut Response,
    longest: usize,
    operation: &'static str,
    authority: &str,
) -> Result<Vec<u8>, Error> {
    read(response, longest).await.map_err(|error| match error {
        BodyError::TooLong(limit) => Error::TooLong { operation, limit },
        BodyError::Broken(error) => Error::unreachable(operation, authority, error),
    })
}

/// An answer that is a file.
#[derive(Debug)]
pub struct Download {
    operation: &'static str,
    authority: String,
    response: Response,
}

impl Download {
    /// Length in bytes, if the service says.
    pub fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// What kind of file the service says it is.
    pub fn content_type(&self) -> Option<&str> {
        self.response.headers().get(CONTENT_TYPE)?.to_str().ok()
    }

    /// The name that the service gives the file, without any folder.
    pub fn file_name(&self) -> Option<String> {
        let value = self.response.headers().get(CONTENT_DISPOSITION)?.to_str().ok()?;
        let (_, name) = value.split_once("filename=")?;
        let name = name.split(';').next()?.trim().trim_matches('"');
        let name = name.rsplit(['/', '\\']).next()?;
        (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
    }

    /// The next piece; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let chunk = self.response.chunk().await;
        chunk.map_err(|error| Error::unreachable(self.operation, &self.authority, error))
    }

    /// The whole file, if it is not longer than `longest` bytes.
    pub async fn bytes(mut self, longest: usize) -> Result<Vec<u8>, Error> {
        whole(&mut self.response, longest, self.operation, &self.authority).await
    }

    /// The error of a caller that has waited too long for the next piece.
    pub(crate) fn timed_out(&self) -> Error {
        Error::Unreachable {
            operation: self.operation,
            authority: self.authority.clone(),
            failure: Failure::Timeout,
            cause: "nothing came for too long".to_owned(),
        }
    }
}
