//! Fetching one base image: in one piece or going on where it was interrupted, with its length checked.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::http::{Addresses, Proxies, Trust, authorities_of_file, builder};
use assisted_isokit::pxe::Thresholds;
use bytes::BytesMut;
use http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_RANGE, LAST_MODIFIED, LOCATION, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{Client, Method, Response};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use url::Url;

use super::StoreError;
use super::part::{Origin, Part, discard};

/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;

/// How long a server may stay silent.
const SILENCE: Duration = Duration::from_secs(60);

/// How often an image may be somewhere else.
const MOST_REDIRECTS: usize = 10;

/// Bytes of an image at most: the largest known ones take some tens of gigabytes.
const LARGEST: u64 = 256 << 30;

/// How base images are fetched.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Whether all are fetched at the start, or each when it is asked for.
    pub eager: bool,
    /// Fetches at a time.
    pub parallel: usize,
    /// File with certificates (PEM) that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether any certificate is accepted; counts for nothing when certificates are named (image-service §1.2).
    pub insecure: bool,
    /// Sent with every request to the server of an image; not to another one that it redirects to.
    pub headers: Vec<(String, String)>,
    /// Added to the query of an image's address; not to an address that it redirects to.
    pub query: Vec<(String, String)>,
    /// What an image must hold at the least.
    pub least: Thresholds,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            eager: false,
            parallel: 3,
            ca_file: None,
            insecure: false,
            headers: Vec::new(),
            query: Vec::new(),
            least: Thresholds::default(),
        }
    }
}

/// Why an image was not fetched. No address shows: it may hold a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("{0}")]
    Http(String),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("the address of the image can't be followed: {0}")]
    Redirect(&'static str),
    #[error("the server does not tell the length of the image")]
    NoLength,
    #[error("the image would take {0} bytes")]
    TooLarge(u64),
    #[error("the server sent nothing for {} s", SILENCE.as_secs())]
    Silent,
    #[error("the image ended after {received} of {length} bytes")]
    ShortIsoPath { received: u64, length: u64 },
    #[error("the server went on with another image")]
    Changed,
    #[error("the image can't be written")]
    Disk(#[from] io::Error),
}

#[derive(Debug)]
pub(super) struct Fetcher {
    headers: HeaderMap,
    trust: Trust,
    query: Vec<(String, String)>,
    addresses: Addresses,
    /// Made for the first fetch: the system's certificates take a while to read, and there may be nothing to fetch.
    http: OnceLock<Client>,
}

impl Fetcher {
    pub fn new(options: &FetchOptions) -> Result<Self, StoreError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &options.headers {
            let read = || Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?));
            let (key, value) = read().ok_or_else(|| StoreError::Header { name: name.clone() })?;
            headers.append(key, value);
        }
        Ok(Self {
            headers,
            trust: match &options.ca_file {
                Some(path) => Trust::Also(authorities_of_file(path)?),
                None if options.insecure => Trust::Any,
                None => Trust::System,
            },
            query: options.query.clone(),
            addresses: Addresses::new(&Proxies::FromEnvironment),
            http: OnceLock::new(),
        })
    }

    fn http(&self) -> Result<&Client, FetchError> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let http = builder(crate::USER_AGENT, self.trust.clone(), &Proxies::FromEnvironment)
            .and_then(|http| {
                // It follows no redirect: what is sent is not for whoever an answer points to.
                http.no_gzip().dns_resolver(Arc::new(self.addresses.clone())).build()
            })
            .map_err(|error| FetchError::Http(chain(&error)))?;
        Ok(self.http.get_or_init(|| http))
    }

    /// Fetches what is missing of an image; `on_progress` is called with each piece that has been written. The part is whole, and not
    /// yet what it is to be called.
    pub async fn fetch(
        &self,
        url: &Url,
        to: &Path,
        on_progress: &mut impl FnMut(&Part),
    ) -> Result<Part, FetchError> {
        let earlier = {
            let (to, url) = (to.to_owned(), url.clone());
            on_disk(move || Part::resume(&to, &url)).await?
        };
        // Without a validator nothing says that the rest would belong to what is here.
        let earlier = earlier.filter(|part| part.received > 0 && part.origin.validator.is_some());
        if let Some(part) = earlier {
            on_progress(&part);
            if part.received == part.origin.length {
                return Ok(part);
            }
            let response = self.get(url, Some((part.received, &part.origin))).await?;
            match response.status() {
                StatusCode::PARTIAL_CONTENT if continues(response.headers(), part.received, &part.origin) => {
                    tracing::info!(
                        received = part.received,
                        length = part.origin.length,
                        "the fetch goes on"
                    );
                    return receive(response, part, on_progress).await;
                }
                StatusCode::OK => {
                    drop(part);
                    return begin(response, url, to, on_progress).await;
                }
                StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                    let to = to.to_owned();
                    on_disk(move || discard(&to)).await?;
                    return Err(FetchError::Changed);
                }
                status => return Err(FetchError::Status(status)),
            }
        }
        let response = self.get(url, None).await?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        begin(response, url, to, on_progress).await
    }

    /// The end of an image from some offset on, in a file without a name.
    pub async fn tail(
        &self,
        url: &Url,
        dir: &Path,
        origin: &Origin,
        from: u64,
    ) -> Result<Arc<File>, FetchError> {
        let mut response = self.get(url, Some((from, origin))).await?;
        if response.status() != StatusCode::PARTIAL_CONTENT || !continues(response.headers(), from, origin) {
            return Err(FetchError::Status(response.status()));
        }
        let dir = dir.to_owned();
        let file = Arc::new(on_disk(move || tempfile::tempfile_in(dir)).await?);
        let mut at = 0;
        let mut left = origin.length - from;
        while left > 0 {
            let chunk = timeout(SILENCE, response.chunk()).await.map_err(|_| FetchError::Silent)?;
            let chunk = chunk.map_err(|error| FetchError::Http(chain(&error.without_url())))?;
            let chunk = chunk.filter(|chunk| chunk.len() as u64 <= left).ok_or(FetchError::Changed)?;
            left -= chunk.len() as u64;
            let (file, place) = (Arc::clone(&file), at);
            at += chunk.len() as u64;
            on_disk(move || file.write_all_at(&chunk, place)).await?;
        }
        Ok(file)
    }

    /// Whether a server has an image, and how long it is, where it says so: nothing of it is fetched.
    pub async fn probe(&self, url: &Url) -> Result<Option<u64>, FetchError> {
        let response = self.ask(&Method::HEAD, url, None).await?;
        match response.status() {
            StatusCode::OK => {
                let length = response.headers().get(CONTENT_LENGTH);
                Ok(length.and_then(|length| length.to_str().ok()?.parse().ok()))
            }
            status => Err(FetchError::Status(status)),
        }
    }

    async fn get(&self, url: &Url, rest: Option<(u64, &Origin)>) -> Result<Response, FetchError> {
        self.ask(&Method::GET, url, rest).await
    }

    async fn ask(
        &self,
        method: &Method,
        url: &Url,
        rest: Option<(u64, &Origin)>,
    ) -> Result<Response, FetchError> {
        let rest = rest.and_then(|(from, origin)| Some((from, origin.validator.as_ref()?)));
        let mut at = url.clone();
        // The image's own address was set by somebody.
        if let Some(host) = url.host_str() {
            self.addresses.allow(host);
        }
        for _ in 0..=MOST_REDIRECTS {
            // What is stored is the image itself, and its length has to be known. Headers and query that an operator has set are for the server of the image alone.
            let mut request =
                self.http()?.request(method.clone(), at.clone()).header(ACCEPT_ENCODING, "identity");
            if at.origin() == url.origin() {
                request = request.headers(self.headers.clone());
            }
            if at == *url && !self.query.is_empty() {
                request = request.query(&self.query);
            }
            if let Some((from, validator)) = rest {
                request = request.header(RANGE, format!("bytes={from}-")).header(IF_RANGE, validator);
            }
            let sent = timeout(SILENCE, request.send()).await.map_err(|_| FetchError::Silent)?;
            let response = sent.map_err(|error| FetchError::Http(chain(&error.without_url())))?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            at = redirected(&at, response.headers())?;
            if !self.addresses.allows(&at) {
                return Err(FetchError::Redirect("it redirects to an address of this machine or its link"));
            }
        }
        Err(FetchError::Redirect("it redirects too often"))
    }
}

async fn begin(
    response: Response,
    url: &Url,
    to: &Path,
    on_progress: &mut impl FnMut(&Part),
) -> Result<Part, FetchError> {
    let length = response.content_length().ok_or(FetchError::NoLength)?;
    if length > LARGEST {
        return Err(FetchError::TooLarge(length));
    }
    let origin = Origin::new(url, validator(response.headers()), length);
    let to = to.to_owned();
    let part = on_disk(move || Part::begin(&to, origin)).await?;
    on_progress(&part);
    receive(response, part, on_progress).await
}

async fn receive(
    mut response: Response,
    mut part: Part,
    on_progress: &mut impl FnMut(&Part),
) -> Result<Part, FetchError> {
    let mut piece = BytesMut::with_capacity(PIECE);
    let ended = loop {
        let chunk = match timeout(SILENCE, response.chunk()).await {
            Err(_) => break Err(FetchError::Silent),
            Ok(Err(error)) => break Err(FetchError::Http(chain(&error.without_url()))),
            Ok(Ok(chunk)) => chunk,
        };
        let end = chunk.is_none();
        piece.extend_from_slice(&chunk.unwrap_or_default());
        if part.received + piece.len() as u64 > part.origin.length {
            return Err(FetchError::Changed);
        }
        if end || piece.len() >= PIECE {
            (part, piece) = write(part, piece).await?;
            on_progress(&part);
        }
        if end {
            break Ok(());
        }
    };
    // What came before an interruption is worth keeping.
    (part, _) = write(part, piece).await?;
    part = on_disk(move || part.sync().map(|()| part)).await?;
    on_progress(&part);
    ended?;
    let (received, length) = (part.received, part.origin.length);
    if received < length { Err(FetchError::ShortIsoPath { received, length }) } else { Ok(part) }
}

async fn write(mut part: Part, mut piece: BytesMut) -> io::Result<(Part, BytesMut)> {
    on_disk(move || {
        part.append(&piece)?;
        piece.clear();
        Ok((part, piece))
    })
    .await
}

async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// What says that two answers are of the same file: weak tags do not.
fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
    text(ETAG).filter(|tag| tag.starts_with('"')).or_else(|| text(LAST_MODIFIED))
}

/// Where an answer points to.
fn redirected(from: &Url, headers: &HeaderMap) -> Result<Url, FetchError> {
    let to = headers.get(LOCATION).and_then(|location| location.to_str().ok()).filter(|to| !to.is_empty());
    let to =
        to.and_then(|to| from.join(to).ok()).ok_or(FetchError::Redirect("it redirects to no address"))?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(to),
        ("https", _) => Err(FetchError::Redirect("it redirects from https to what is not")),
        _ => Err(FetchError::Redirect("it redirects to what is no address of a web server")),
    }
}

/// Whether an answer is the rest of a file, from some offset on.
fn continues(headers: &HeaderMap, from: u64, origin: &Origin) -> bool {
    let length = origin.length;
    let expected = format!("bytes {from}-{}/{length}", length.saturating_sub(1));
    headers.get(CONTENT_RANGE).is_some_and(|range| range.as_bytes() == expected.as_bytes())
}
