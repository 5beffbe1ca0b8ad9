//! Files on their way to a client, and where those of a cluster are stored.

pub(crate) mod manifest;

use std::fmt;
use std::io;
use std::pin::Pin;

use assisted_blob::{Blob, Key};
use assisted_core::model::cluster::ClusterRecord;
use assisted_wire::id::ClusterId;
use assisted_wire::time::DateTime;
use bytes::Bytes;
use futures::Stream;

use crate::Error;

/// Bytes of a file, in pieces.
pub type Content = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A file on its way to a client.
pub struct File {
    /// Name under which the client keeps it.
    pub name: String,
    /// In bytes; `None`: known at its end only.
    pub size: Option<u64>,
    /// When what it is made from was changed last; `None`: not known.
    pub modified: Option<DateTime>,
    pub content: Content,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("name", &self.name).field("size", &self.size).finish_non_exhaustive()
    }
}

impl File {
    /// Opens a stored file.
    pub(crate) async fn open(blob: &Blob, key: &Key, name: &str) -> Result<Self, assisted_blob::Error> {
        let (object, content) = blob.stream(key, None).await?;
        Ok(Self {
            name: name.to_owned(),
            size: Some(object.size),
            modified: None,
            content: Box::pin(content),
        })
    }

    /// A file that was made for this request.
    pub(crate) fn whole(name: String, content: Vec<u8>) -> Self {
        let size = Some(content.len() as u64);
        let content = Box::pin(futures::stream::once(std::future::ready(Ok(Bytes::from(content)))));
        Self { name, size, modified: None, content }
    }

    pub(crate) fn modified(mut self, at: DateTime) -> Self {
        self.modified = Some(at);
        self
    }
}

/// The key of a file of a cluster.
pub(crate) fn key(cluster_id: ClusterId, path: &str) -> Result<Key, Error> {
    Key::new(format!("{cluster_id}/{path}")).map_err(Error::internal)
}

/// The key of a file that was generated for a cluster, or is made of such.
///
/// Each time that files are generated they get a folder of their own, which the record names once they all are there: a
/// process that lost its lease and still writes can't mix its files with those that hosts already use.
pub(crate) fn generated_key(record: &ClusterRecord, name: &str) -> Result<Key, Error> {
    let id = record.cluster.id;
    match &record.generated_folder {
        Some(folder) => key(id, &format!("{folder}/{name}")),
        None => key(id, name),
    }
}

/// The folder of all [folders of generated files](generated_key).
pub(crate) const GENERATED: &str = "generated";

/// Where all files of a cluster are.
pub(crate) fn root(cluster_id: ClusterId) -> Result<Key, Error> {
    Key::new(cluster_id.to_string()).map_err(Error::internal)
}
