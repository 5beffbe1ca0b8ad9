//! An image on a server, read in ranges: looking into it takes a few hundred kilobytes of it.

use std::collections::HashMap;
use std::io;

use assisted_base::http::{BodyError, read};
use assisted_console::Failure;
use assisted_isokit::ReadAt;
use bytes::Bytes;
use parking_lot::Mutex;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::{Client, Response, StatusCode};
use tokio::runtime::Handle;

use super::cause;

/// What is fetched at a time, in bytes.
const BLOCK: u64 = 128 << 10;

/// Reads block the thread: they belong on one of its own.
pub struct Remote {
    http: Client,
    url: String,
    runtime: Handle,
    size: u64,
    /// Says that later ranges are of the same image.
    validator: Option<String>,
    blocks: Mutex<HashMap<u64, Bytes>>,
}

impl Remote {
    /// Fetches the beginning of the image at `url`.
    pub async fn open(http: Client, url: String) -> Result<Self, Failure> {
        let response =
            range(&http, &url, 0, None).await.map_err(|error| Failure::Unreachable(cause(error)))?;
        let status = response.status();
        if status == StatusCode::OK {
            return Err(Failure::Refused(
                "the server sends whole files only: download the image first".into(),
            ));
        }
        if status != StatusCode::PARTIAL_CONTENT {
            return Err(Failure::Refused(format!("the server answers {status}")));
        }
        let size = total(response.headers())
            .ok_or_else(|| Failure::Refused("the server does not say how long the image is".into()))?;
        let validator = validator(response.headers());
        let first = body(response).await.map_err(|error| Failure::Unreachable(error.to_string()))?;
        let blocks = Mutex::new(HashMap::from([(0, first)]));
        Ok(Self { http, url, runtime: Handle::current(), size, validator, blocks })
    }

    fn block(&self, number: u64) -> io::Result<Bytes> {
        if let Some(block) = self.blocks.lock().get(&number) {
            return Ok(block.clone());
        }
        let block = self.runtime.block_on(async {
            let validator = self.validator.as_deref();
            let response = range(&self.http, &self.url, number, validator).await;
            let response = response.map_err(|error| io::Error::other(cause(error)))?;
            match response.status() {
                StatusCode::PARTIAL_CONTENT => body(response).await,
                StatusCode::OK => Err(io::Error::other("the image has changed meanwhile; try again")),
                status => Err(io::Error::other(format!("the server answers {status}"))),
            }
        })?;
        self.blocks.lock().insert(number, block.clone());
        Ok(block)
    }
}

impl ReadAt for Remote {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        let mut at = at;
        let mut rest = buf;
        while !rest.is_empty() {
            if at >= self.size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let block = self.block(at / BLOCK)?;
            let from = (at % BLOCK) as usize;
            let part = block.get(from..).filter(|part| !part.is_empty());
            let part = part.ok_or_else(|| io::Error::other("the server sends less than it should"))?;
            let len = part.len().min(rest.len());
            rest[..len].copy_from_slice(&part[..len]);
            rest = &mut rest[len..];
            at += len as u64;
        }
        Ok(())
    }
}

async fn range(http: &Client, url: &str, number: u64, same: Option<&str>) -> reqwest::Result<Response> {
    let start = number * BLOCK;
    let request = http.get(url).header(RANGE, format!("bytes={start}-{}", start + BLOCK - 1));
    match same {
        Some(validator) => request.header(IF_RANGE, validator).send().await,
        None => request.send().await,
    }
}

/// The answer's body, which is no longer than what was asked for.
async fn body(mut response: Response) -> io::Result<Bytes> {
    let body = read(&mut response, BLOCK as usize).await.map_err(|error| match error {
        BodyError::TooLong(_) => io::Error::other("the server sends more than it was asked for"),
        BodyError::Broken(error) => io::Error::other(cause(error)),
    })?;
    Ok(body.into())
}

/// What tells one version of an image from another: an entity tag that is not weak, else the time of its last change.
pub fn validator(headers: &HeaderMap) -> Option<String> {
    let header = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
    header(ETAG).filter(|tag| !tag.starts_with("W/")).or_else(|| header(LAST_MODIFIED))
}

/// Length of the whole, of an answer with a part.
pub fn total(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.rsplit_once('/')?.1.parse().ok()
}
