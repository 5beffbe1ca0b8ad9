//! A file that comes in pieces, put in parts: nothing of it is seen before the last one.

use std::io;
use std::mem;
use std::sync::Arc;

use assisted_base::failpoint;
use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::StatusCode;
use rusty_s3::actions::{CreateMultipartUpload, S3Action};

use super::{GOOD, Inner, etag, refusal, text};
use crate::backend::{Draft, Raw};
use crate::error::Error;
use crate::key::Key;

/// Bytes of a part: what is shorter is put by one request.
pub(super) const PART: usize = 8 << 20;

/// A file that is being put.
pub(super) struct Upload {
    inner: Arc<Inner>,
    key: Key,
    held: BytesMut,
    /// What the server calls it, once it has more than one part.
    id: Option<String>,
    /// What the server calls its parts.
    parts: Vec<String>,
}

impl Upload {
    pub(super) fn new(inner: &Arc<Inner>, key: &Key) -> Self {
        Self {
            inner: Arc::clone(inner),
            key: key.clone(),
            held: BytesMut::new(),
            id: None,
            parts: Vec::new(),
        }
    }

    /// Sends what is held as the next part.
    async fn send_part(&mut self, part: Bytes) -> io::Result<()> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => {
                let credentials = Some(&self.inner.credentials);
                let action = self.inner.address.create_multipart_upload(credentials, self.key.as_str());
                let answer = self.inner.send(&action, Some(Bytes::new())).await?;
                if !answer.status().is_success() {
                    return Err(refusal("a file can't be begun", answer).await);
                }
                let begun =
                    CreateMultipartUpload::parse_response(&text(answer).await?).map_err(io::Error::other)?;
                self.id.insert(begun.upload_id().to_owned()).clone()
            }
        };
        let number = u16::try_from(self.parts.len() + 1).map_err(io::Error::other)?;
        let credentials = Some(&self.inner.credentials);
        let action = self.inner.address.upload_part(credentials, self.key.as_str(), number, &id);
        let answer = self.inner.send(&action, Some(part)).await?;
        if !answer.status().is_success() {
            return Err(refusal("a part of a file can't be put", answer).await);
        }
        self.parts.push(etag(answer.headers()));
        Ok(())
    }

    /// Sends the rest and gives the file its key; `instead_of`: only if that version is there still. Tells whether it did.
    async fn finish(mut self, instead_of: Option<&str>) -> io::Result<bool> {
        let rest = mem::take(&mut self.held).freeze();
        if self.id.is_none() {
            return self.inner.put(self.key.as_str(), rest, instead_of).await;
        }
        if !rest.is_empty() {
            self.send_part(rest).await?;
        }
        if instead_of.is_some() && self.inner.version(self.key.as_str()).await?.as_deref() != instead_of {
            return Ok(false);
        }
        let id = self.id.clone().unwrap_or_default();
        let parts = self.parts.iter().map(String::as_str);
        let action = self.inner.address.complete_multipart_upload(
            Some(&self.inner.credentials),
            self.key.as_str(),
            &id,
            parts,
        );
        let address = action.sign(GOOD);
        let body = action.body();
        let sent = self.inner.client.send(
            rusty_s3::Method::Post,
            address,
            reqwest::header::HeaderMap::new(),
            Some(body.into()),
            super::Limits::WRITE,
        );
        let answer = sent.await?;
        let status = answer.status();
        if status == StatusCode::NOT_FOUND && self.inner.version(self.key.as_str()).await?.is_some() {
            // Done by an attempt whose answer was lost.
            self.id = None;
            return Ok(true);
        }
        if !status.is_success() {
            return Err(refusal("a file can't be ended", answer).await);
        }
        // A server that fails late says so in the text of a good answer.
        let told = text(answer).await?;
        if told.contains("<Error>") {
            return Err(io::Error::other("the server could not put the parts of a file together"));
        }
        self.id = None;
        Ok(true)
    }

    async fn publish_now(
        self: Box<Self>,
        instead_of: Option<String>,
        what: &'static str,
    ) -> Result<bool, Error> {
        let key = self.key.clone();
        let done = self.finish(instead_of.as_deref()).await.map_err(|error| Error::of(&key, what, error))?;
        if done {
            failpoint::passed(|| vec![format!("put {}", key.name())]);
        }
        Ok(done)
    }
}

impl Draft for Upload {
    fn write(&mut self, piece: Bytes) -> BoxFuture<'_, io::Result<()>> {
        async move {
            self.held.extend_from_slice(&piece);
            // The last part may be of any length, and none may be empty.
            while self.held.len() > PART {
                let part = self.held.split_to(PART).freeze();
                self.send_part(part).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn publish(self: Box<Self>) -> BoxFuture<'static, Result<(), Error>> {
        async { self.publish_now(None, "written").await.map(|_| ()) }.boxed()
    }

    fn publish_instead(self: Box<Self>, of: Raw) -> BoxFuture<'static, Result<bool, Error>> {
        async { self.publish_now(Some(of.version), "sealed").await }.boxed()
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // What was begun and came to no end costs room; a server can be told to remove it by itself, too.
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let (inner, key) = (Arc::clone(&self.inner), self.key.clone());
        runtime.spawn(async move {
            let credentials = Some(&inner.credentials);
            let action = inner.address.abort_multipart_upload(credentials, key.as_str(), &id);
            if let Err(error) = inner.send(&action, None).await {
                tracing::warn!(%key, %error, "parts of a file that was given up are left in the bucket");
            }
        });
    }
}
