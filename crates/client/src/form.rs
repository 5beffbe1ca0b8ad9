//! A form with one field, a file that is read while it is sent: archives of logs are larger than the memory that a host
//! has to spare.

use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use reqwest::Body;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;
use uuid::Uuid;

/// Read at once, in bytes.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct FormFile {
    field: &'static str,
    path: PathBuf,
    /// Stands in no file: it is random.
    boundary: String,
}

impl FormFile {
    pub(crate) fn new(field: &'static str, path: PathBuf) -> Self {
        Self { field, path, boundary: Uuid::new_v4().simple().to_string() }
    }

    pub(crate) fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    /// The whole body and its length; opened anew for each attempt.
    pub(crate) async fn open(&self) -> io::Result<(u64, Body)> {
        let file = File::open(&self.path).await?;
        let length = file.metadata().await?.len();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        // What a name may hold, and a header may not.
        let name: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        let head = format!(
            "--{0}\r\nContent-Disposition: form-data; name=\"{1}\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n",
            self.boundary, self.field
        );
        let tail = format!("\r\n--{}--\r\n", self.boundary);
        let total = length + (head.len() + tail.len()) as u64;
        let edge = |text: String| stream::iter([Ok(Bytes::from(text))]);
        // A file that grows meanwhile is sent as long as it was.
        let pieces = ReaderStream::with_capacity(file.take(length), PIECE);
        Ok((total, Body::wrap_stream(edge(head).chain(pieces).chain(edge(tail)))))
    }
}
