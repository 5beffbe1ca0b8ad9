//! A bucket of S3, or of what speaks as it does: each request is a signed address.

mod client;
mod upload;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::http::Trust;
use assisted_wire::secret::Secret;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_MATCH, LAST_MODIFIED, RANGE};
use reqwest::{Response, StatusCode};
use rusty_s3::actions::{ListObjectsV2, S3Action};
use rusty_s3::{Bucket as Address, BucketError, Credentials, UrlStyle};
use url::Url;

use crate::backend::{Backend, Content, Draft, Raw};
use crate::error::Error;
use crate::key::Key;
use crate::object::Object;
use client::{Client, Limits};
use upload::Upload;

/// How long a signed address is good: far longer than a request and its repetitions take.
const GOOD: Duration = Duration::from_secs(3600);

/// So much of a file comes with the question whether it is there.
const FIRST: u64 = 128 << 10;

/// Bytes that are read at a time.
const WINDOW: u64 = 1 << 20;

/// Longest answer that is no file, in bytes: a list of a thousand keys.
const LONGEST: usize = 4 << 20;

/// Where a bucket is, and what opens it.
#[derive(Clone, Debug)]
pub struct S3 {
    /// The server, such as `https://s3.example.com`; its path, if any, stands before the name of the bucket.
    pub endpoint: Url,
    pub region: String,
    pub bucket: String,
    pub access_key: String,
    pub secret_key: Secret,
    /// Whether a bucket that is not there is made.
    pub create: bool,
    pub trust: Trust,
}

impl S3 {
    /// A bucket in the region that servers without regions take; it is made when it is not there.
    pub fn at(
        endpoint: Url,
        bucket: impl Into<String>,
        access_key: impl Into<String>,
        secret_key: impl Into<Secret>,
    ) -> Self {
        Self {
            endpoint,
            region: "us-east-1".to_owned(),
            bucket: bucket.into(),
            access_key: access_key.into(),
            secret_key: secret_key.into(),
            create: true,
            trust: Trust::System,
        }
    }
}

/// Why a bucket can't be used at all.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("its address can't be used: {0}")]
    Address(String),
    #[error(transparent)]
    Client(#[from] reqwest::Error),
    #[error("there is no bucket {0}; make it, or set CREATE_S3_BUCKET to true")]
    Missing(String),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<BucketError> for PlaceError {
    fn from(error: BucketError) -> Self {
        Self::Address(error.to_string())
    }
}

/// An open bucket.
#[derive(Debug)]
pub(crate) struct Bucket(Arc<Inner>);

/// What requests are made of.
#[derive(Debug)]
struct Inner {
    address: Address,
    credentials: Credentials,
    client: Client,
}

impl Bucket {
    /// Opens a bucket; makes it when it is not there and may be made.
    pub(crate) async fn open(place: S3) -> Result<Self, Error> {
        Self::connect(place).await.map_err(|error| Error::Open(io::Error::other(error)))
    }

    async fn connect(place: S3) -> Result<Self, PlaceError> {
        let (name, create) = (place.bucket.clone(), place.create);
        let address = Address::new(place.endpoint, UrlStyle::Path, place.bucket, place.region)?;
        let credentials = Credentials::new(place.access_key, place.secret_key.expose());
        let inner = Inner { address, credentials, client: Client::new(place.trust)? };
        let there = inner.send(&inner.address.head_bucket(Some(&inner.credentials)), None).await?;
        match there.status() {
            status if status.is_success() => {}
            StatusCode::NOT_FOUND if create => {
                let action = inner.address.create_bucket(&inner.credentials);
                let made = inner.send(&action, Some(action.body().into())).await?;
                // Another replica may have made it just now.
                if !made.status().is_success() && made.status() != StatusCode::CONFLICT {
                    return Err(refusal("the bucket can't be made", made).await.into());
                }
            }
            StatusCode::NOT_FOUND => return Err(PlaceError::Missing(name)),
            StatusCode::FORBIDDEN => {
                let told = format!("the bucket {name} is not open to AWS_ACCESS_KEY_ID with its secret");
                return Err(PlaceError::Refused(told));
            }
            _ => return Err(refusal("the bucket can't be used", there).await.into()),
        }
        Ok(Self(Arc::new(inner)))
    }
}

impl Inner {
    /// Makes a request with a body, if it has one.
    async fn send<'a>(&'a self, action: &impl S3Action<'a>, body: Option<Bytes>) -> io::Result<Response> {
        self.send_with(action, body, HeaderMap::new()).await
    }

    /// The same with headers.
    async fn send_with<'a, A: S3Action<'a>>(
        &'a self,
        action: &A,
        body: Option<Bytes>,
        headers: HeaderMap,
    ) -> io::Result<Response> {
        let limits = if body.is_some() { Limits::WRITE } else { Limits::READ };
        self.client.send(A::METHOD, action.sign(GOOD), headers, body, limits).await
    }

    /// Puts a whole content; `instead_of`: only if that is there still. Tells whether it did.
    async fn put(&self, key: &str, content: Bytes, instead_of: Option<&str>) -> io::Result<bool> {
        let action = self.address.put_object(Some(&self.credentials), key);
        let mut headers = HeaderMap::new();
        if let Some(version) = instead_of.and_then(|version| version.parse().ok()) {
            headers.insert(IF_MATCH, version);
        }
        let answer = self.send_with(&action, Some(content), headers).await?;
        match answer.status() {
            status if status.is_success() => Ok(true),
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT if instead_of.is_some() => Ok(false),
            _ => Err(refusal("a file can't be put", answer).await),
        }
    }

    /// What is told of the file that is under a key now.
    async fn head(&self, key: &str) -> io::Result<Option<HeaderMap>> {
        let answer = self.send(&self.address.head_object(Some(&self.credentials), key), None).await?;
        match answer.status() {
            status if status.is_success() => Ok(Some(answer.headers().clone())),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(refusal("a file can't be asked for", answer).await),
        }
    }

    /// The version of that file.
    async fn version(&self, key: &str) -> io::Result<Option<String>> {
        Ok(self.head(key).await?.as_ref().map(etag))
    }

    /// A part of a file.
    async fn part(&self, key: &str, range: &Range<u64>, version: Option<&str>) -> io::Result<Response> {
        let mut headers = HeaderMap::new();
        let text = format!("bytes={}-{}", range.start, range.end.saturating_sub(1));
        headers.insert(RANGE, text.parse().map_err(io::Error::other)?);
        if let Some(version) = version.and_then(|version| version.parse().ok()) {
            headers.insert(IF_MATCH, version);
        }
        self.send_with(&self.address.get_object(Some(&self.credentials), key), None, headers).await
    }

    /// One page of a list, and where the next one begins.
    async fn page(
        &self,
        prefix: &str,
        next: Option<String>,
    ) -> io::Result<(Vec<(Key, Object)>, Option<String>)> {
        let mut action = ListObjectsV2::new(&self.address, Some(&self.credentials));
        action.with_prefix(prefix);
        if let Some(next) = next {
            action.with_continuation_token(next);
        }
        let answer = self.send(&action, None).await?;
        if !answer.status().is_success() {
            return Err(refusal("files can't be listed", answer).await);
        }
        let listed = ListObjectsV2::parse_response(&text(answer).await?).map_err(io::Error::other)?;
        let read = |one: rusty_s3::actions::list_objects_v2::ListObjectsContent| {
            // What others have put under names that are no keys here is none of ours.
            let key = Key::new(one.key).ok()?;
            let modified_at = one.last_modified.as_deref().and_then(|at| at.parse().ok()).unwrap_or_default();
            Some((key, Object { size: one.size.unwrap_or_default(), modified_at }))
        };
        Ok((listed.contents.into_iter().filter_map(read).collect(), listed.next_continuation_token))
    }

    async fn list(&self, folder: Option<&Key>) -> io::Result<Vec<(Key, Object)>> {
        let mut found = Vec::new();
        let prefix = folder.map(Key::as_str).unwrap_or_default();
        let mut next = None;
        loop {
            let (page, further) = self.page(prefix, next).await?;
            // The prefix may end within a name.
            let below = |key: &Key| {
                let rest = key.as_str().strip_prefix(prefix).unwrap_or_default();
                prefix.is_empty() || rest.is_empty() || rest.starts_with('/')
            };
            found.extend(page.into_iter().filter(|(key, _)| below(key)));
            if further.is_none() {
                return Ok(found);
            }
            next = further;
        }
    }

    async fn delete(&self, key: &str) -> io::Result<bool> {
        let was_there = self.version(key).await?.is_some();
        let answer = self.send(&self.address.delete_object(Some(&self.credentials), key), None).await?;
        match answer.status() {
            status if status.is_success() => Ok(was_there),
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(refusal("a file can't be deleted", answer).await),
        }
    }
}

impl Backend for Bucket {
    fn open<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Raw, Error>> {
        let inner = Arc::clone(&self.0);
        async move {
            let failed = |error| Error::of(key, "read", error);
            let answer = inner.part(key.as_str(), &(0..FIRST), None).await.map_err(failed)?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let first = match status {
                StatusCode::PARTIAL_CONTENT | StatusCode::OK => bytes(answer, FIRST).await.map_err(failed)?,
                // A file without content has no part.
                StatusCode::RANGE_NOT_SATISFIABLE => Bytes::new(),
                StatusCode::NOT_FOUND => return Err(Error::NotFound(key.clone())),
                _ => return Err(failed(refusal("a file can't be read", answer).await)),
            };
            let size = whole_size(&headers).unwrap_or(first.len() as u64);
            let version = match etag(&headers) {
                version if version.is_empty() => {
                    inner.version(key.as_str()).await.map_err(failed)?.unwrap_or_default()
                }
                version => version,
            };
            let object = Object { size, modified_at: modified(&headers) };
            let part = Part { inner, key: key.clone(), version: version.clone(), first };
            Ok(Raw { object, version, content: Arc::new(part) })
        }
        .boxed()
    }

    fn put<'a>(&'a self, key: &'a Key, content: Bytes) -> BoxFuture<'a, Result<(), Error>> {
        async move {
            if content.len() > upload::PART {
                let mut upload = Box::new(Upload::new(&self.0, key));
                upload.write(content).await.map_err(|error| Error::of(key, "written", error))?;
                return upload.publish().await;
            }
            let put = self.0.put(key.as_str(), content, None).await;
            put.map(|_| ()).map_err(|error| Error::of(key, "written", error))
        }
        .boxed()
    }

    fn begin<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Box<dyn Draft>, Error>> {
        let draft: Box<dyn Draft> = Box::new(Upload::new(&self.0, key));
        async { Ok(draft) }.boxed()
    }

    fn list<'a>(&'a self, folder: Option<&'a Key>) -> BoxFuture<'a, Result<Vec<(Key, Object)>, Error>> {
        async move {
            self.0.list(folder).await.map_err(|error| match folder {
                Some(folder) => Error::of(folder, "listed", error),
                None => Error::Open(error),
            })
        }
        .boxed()
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, Error>> {
        async move { self.0.delete(key.as_str()).await.map_err(|error| Error::of(key, "deleted", error)) }
            .boxed()
    }

    fn attribute<'a>(&'a self, key: &'a Key, name: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>> {
        async move {
            let head = self.0.head(key.as_str()).await.map_err(|error| Error::of(key, "read", error))?;
            let value = head.as_ref().and_then(|headers| headers.get(format!("x-amz-meta-{name}")));
            Ok(value.and_then(|value| value.to_str().ok()).map(str::to_owned))
        }
        .boxed()
    }

    fn usage(&self) -> BoxFuture<'_, Result<Option<u32>, Error>> {
        async { Ok(None) }.boxed()
    }
}

/// A file that was asked for, with its beginning.
struct Part {
    inner: Arc<Inner>,
    key: Key,
    version: String,
    first: Bytes,
}

impl Content for Part {
    fn read(&self, range: Range<u64>) -> BoxFuture<'_, io::Result<Bytes>> {
        async move {
            if range.end <= self.first.len() as u64 {
                let bound = |at: u64| usize::try_from(at).map_err(io::Error::other);
                return Ok(self.first.slice(bound(range.start)?..bound(range.end)?));
            }
            let length = range.end - range.start;
            let answer = self.inner.part(self.key.as_str(), &range, Some(&self.version)).await?;
            match answer.status() {
                StatusCode::PARTIAL_CONTENT => {
                    let read = bytes(answer, length).await?;
                    if read.len() as u64 == length {
                        Ok(read)
                    } else {
                        Err(io::ErrorKind::UnexpectedEof.into())
                    }
                }
                StatusCode::PRECONDITION_FAILED | StatusCode::NOT_FOUND => {
                    Err(io::Error::other("it was replaced or deleted while it was read"))
                }
                _ => Err(refusal("a part of a file can't be read", answer).await),
            }
        }
        .boxed()
    }

    fn window(&self) -> u64 {
        WINDOW
    }
}

fn etag(headers: &HeaderMap) -> String {
    headers.get(ETAG).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn modified(headers: &HeaderMap) -> Timestamp {
    let text = headers.get(LAST_MODIFIED).and_then(|value| value.to_str().ok()).unwrap_or_default();
    rfc2822::parse(text).map(|at| at.timestamp()).unwrap_or_default()
}

/// The size of the file that a part is of.
fn whole_size(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.rsplit_once('/')?.1.parse().ok()
}

/// The body of an answer with a file, of at most so many bytes.
async fn bytes(mut answer: Response, longest: u64) -> io::Result<Bytes> {
    let longest = usize::try_from(longest).map_err(io::Error::other)?;
    let read = assisted_base::http::read(&mut answer, longest).await;
    read.map(Bytes::from).map_err(client::unread)
}

/// The body of an answer that is no file.
async fn text(answer: Response) -> io::Result<String> {
    String::from_utf8(bytes(answer, LONGEST as u64).await?.into()).map_err(io::Error::other)
}

/// What a server refuses: its status, and the code and message of its answer.
async fn refusal(what: &str, answer: Response) -> io::Error {
    let status = answer.status();
    let told = text(answer).await.unwrap_or_default();
    let element = |name: &str| {
        let (_, rest) = told.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.to_owned())
    };
    let reason: Vec<String> = ["Code", "Message"].iter().filter_map(|name| element(name)).collect();
    io::Error::other(format!("{what}: status {status} {}", reason.join(": ")))
}
