//! Files that clients fetch: what is generated for a cluster and for its hosts (service-api §7).

mod credentials;
mod download;
mod ingress;
pub mod log;
pub mod manifest;
mod presigned;

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use assisted_blob::{Blob, Key};
use assisted_config::Settings;
use assisted_wire::id::ClusterId;
use assisted_wire::time::DateTime;
use bytes::Bytes;
use futures::Stream;

use crate::Error;
use crate::access::Access;
use crate::database::Database;
use crate::keyed_mutex::KeyedMutex;
use crate::service::Parts;

pub use presigned::InfraEnvFile;

/// The use cases of files: what was generated, logs, and manifests.
pub struct Files {
    database: Arc<Database>,
    blob: Blob,
    settings: Arc<Settings>,
    access: Access,
    /// Held by changes of manifests.
    manifests: KeyedMutex,
}

impl Files {
    pub(crate) fn new(parts: &Parts) -> Self {
        Self {
            database: Arc::clone(&parts.database),
            blob: parts.blob.clone(),
            settings: Arc::clone(&parts.settings),
            access: parts.access.clone(),
            manifests: KeyedMutex::default(),
        }
    }
}

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

/// Where all files of a cluster are.
pub(crate) fn root(cluster_id: ClusterId) -> Result<Key, Error> {
    Key::new(cluster_id.to_string()).map_err(Error::internal)
}
