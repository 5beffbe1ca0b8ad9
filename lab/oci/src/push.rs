//! Images on their way into a registry that anyone may write to over plain HTTP.

use std::io::{Read, Seek, SeekFrom};

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};

use crate::{Blob, Image, Index, Manifest};

/// How much is sent at a time, in bytes.
const PIECE: usize = 8 << 20;

/// Why an image could not be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("the registry can't be reached")]
    Http(#[from] reqwest::Error),
    #[error("the image can't be read")]
    Read(#[from] std::io::Error),
    #[error("the registry refuses with status {status}: {answer}")]
    Refused { status: u16, answer: String },
}

/// Pushes an image to `registry`, a host and its port, under a tag if one is told; gives its name by digest.
///
/// # Errors
/// When the registry can't be reached or refuses.
pub async fn push(
    registry: &str,
    repository: &str,
    tag: Option<&str>,
    image: &Image,
) -> Result<String, PushError> {
    let to = Target::new(registry, repository);
    for blob in &image.blobs {
        to.blob(blob).await?;
    }
    to.manifest(&image.manifest, tag).await
}

/// Pushes a list of images with all that is in it.
///
/// # Errors
/// When the registry can't be reached or refuses.
pub async fn push_index(
    registry: &str,
    repository: &str,
    tag: Option<&str>,
    index: &Index,
) -> Result<String, PushError> {
    for image in &index.images {
        push(registry, repository, None, image).await?;
    }
    Target::new(registry, repository).manifest(&index.manifest, tag).await
}

struct Target {
    client: Client,
    registry: String,
    repository: String,
}

impl Target {
    fn new(registry: &str, repository: &str) -> Self {
        // rustls wants one provider per process; whoever comes first has chosen.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { client: Client::new(), registry: registry.to_owned(), repository: repository.to_owned() }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/v2/{}/{path}", self.registry, self.repository)
    }

    async fn blob(&self, blob: &Blob) -> Result<(), PushError> {
        let mut place = location(&done(self.client.post(self.url("blobs/uploads/")).send().await?).await?);
        let mut file = blob.file.as_ref();
        file.seek(SeekFrom::Start(0))?;
        let mut left = blob.size;
        while left > 0 {
            let length = PIECE.min(usize::try_from(left).unwrap_or(PIECE));
            let mut piece = vec![0; length];
            file.read_exact(&mut piece)?;
            let start = blob.size - left;
            left -= length as u64;
            let range = format!("{start}-{}", blob.size - left - 1);
            let request = self.client.patch(&place).header("content-range", range).body(piece);
            place = location(&done(request.send().await?).await?);
        }
        let and = if place.contains('?') { '&' } else { '?' };
        done(self.client.put(format!("{place}{and}digest={}", blob.digest)).send().await?).await?;
        Ok(())
    }

    async fn manifest(&self, manifest: &Manifest, tag: Option<&str>) -> Result<String, PushError> {
        let url = self.url(&format!("manifests/{}", tag.unwrap_or(&manifest.digest)));
        let request =
            self.client.put(url).header(CONTENT_TYPE, manifest.media_type).body(manifest.text.clone());
        done(request.send().await?).await?;
        Ok(format!("{}/{}@{}", self.registry, self.repository, manifest.digest))
    }
}

fn location(answer: &Response) -> String {
    let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
    place.unwrap_or_default().to_owned()
}

async fn done(answer: Response) -> Result<Response, PushError> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status().as_u16();
    Err(PushError::Refused { status, answer: answer.text().await? })
}
