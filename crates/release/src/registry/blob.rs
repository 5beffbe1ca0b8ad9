//! A layer on its way from a registry: checked by its digest, and continued where a connection broke.

use bytes::Bytes;
use http::StatusCode;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc::Sender;

use super::{Descriptor, Get, Session, transport};
use crate::error::RegistryError;
use crate::mirror::Source;
use crate::reference::Digest;

/// From so many new bytes on a broken download counts as going forward, and may break as often again.
const PROGRESS: u64 = 4 << 20;

/// Takes a layer as it arrives, in order. What was sent counts only when the download has ended well.
pub(crate) type LayerSink = Sender<Bytes>;

impl Session {
    /// Sends the bytes of a layer on, and checks at their end whether they were the right ones.
    pub(crate) async fn download(
        &self,
        source: &Source,
        layer: &Descriptor,
        to: LayerSink,
    ) -> Result<(), RegistryError> {
        let mut download = Download { session: self, source, layer, to, hash: Sha256::new(), got: 0 };
        let (mut tries, mut mark) = (self.retry().tries(), 0);
        while let Err(error) = download.go_on().await {
            if download.got - mark >= PROGRESS {
                tries.went_on();
                mark = download.got;
            }
            tries.again(error).await?;
        }
        let (wanted, got) = (layer.digest, Digest::finish(download.hash));
        if got == wanted { Ok(()) } else { Err(RegistryError::WrongDigest { wanted, got }) }
    }
}

struct Download<'a> {
    session: &'a Session,
    source: &'a Source,
    layer: &'a Descriptor,
    to: LayerSink,
    hash: Sha256,
    got: u64,
}

impl Download<'_> {
    async fn go_on(&mut self) -> Result<(), RegistryError> {
        let (of, digest) = (self.layer.size, self.layer.digest);
        if self.got == of {
            return Ok(());
        }
        let ask = Get {
            path: format!("blobs/{digest}"),
            head: false,
            accept: None,
            from: self.got,
            source: self.source,
        };
        let mut answer = self.session.ask(&ask).await.map_err(|error| match error {
            RegistryError::NoImage => RegistryError::NoBlob(digest),
            // It has no more than what came: a part of the layer.
            RegistryError::Status(416) if self.got > 0 => {
                RegistryError::Truncated { digest, got: self.got, of }
            }
            other => other,
        })?;
        // A registry that can't give a part gives the whole.
        let mut known = if answer.status() == StatusCode::PARTIAL_CONTENT { 0 } else { self.got };
        loop {
            let mut chunk = match answer.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) if self.got == of => return Ok(()),
                Ok(None) => return Err(RegistryError::Truncated { digest, got: self.got, of }),
                Err(error) => {
                    tracing::debug!(%digest, got = self.got, of, error = transport::cause(&error), "a download broke");
                    return Err(RegistryError::Truncated { digest, got: self.got, of });
                }
            };
            let skipped = known.min(chunk.len() as u64);
            known -= skipped;
            // Not more than the chunk is long.
            let _ = chunk.split_to(usize::try_from(skipped).unwrap_or(chunk.len()));
            self.got += chunk.len() as u64;
            if self.got > of {
                return Err(RegistryError::TooLarge { what: "the layer", limit: of });
            }
            self.hash.update(&chunk);
            // Nobody takes it any more: whoever did has failed, and says why.
            self.to.send(chunk).await.map_err(|_| RegistryError::Stopped)?;
        }
    }
}
