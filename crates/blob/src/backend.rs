//! Where files are kept, as they are: sealing, limits and parts are above it.

use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::error::Error;
use crate::key::Key;
use crate::object::Object;

/// Keeps files under keys. A file appears whole or not at all, and lasts once that is told.
pub(crate) trait Backend: Debug + Send + Sync {
    /// Opens a file.
    fn open<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Raw, Error>>;

    /// Puts a file that is whole.
    fn put<'a>(&'a self, key: &'a Key, content: Bytes) -> BoxFuture<'a, Result<(), Error>>;

    /// Begins a file that comes in pieces; dropped before it is published, it leaves nothing.
    fn begin<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Box<dyn Draft>, Error>>;

    /// The files below a folder, or the file of this key; `None`: all files. In no order.
    fn list<'a>(&'a self, folder: Option<&'a Key>) -> BoxFuture<'a, Result<Vec<(Key, Object)>, Error>>;

    /// Deletes a file; tells whether it was there.
    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, Error>>;

    /// What another program has noted on a file under a name: an extended attribute, or a header of S3.
    fn attribute<'a>(&'a self, key: &'a Key, name: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>>;

    /// How full the place is, percent; `None` where there is no end to it.
    fn usage(&self) -> BoxFuture<'_, Result<Option<u32>, Error>>;
}

/// A file that was opened.
#[derive(Clone)]
pub(crate) struct Raw {
    /// With the size as it is kept.
    pub(crate) object: Object,
    /// Tells one content from another under the same key.
    pub(crate) version: String,
    pub(crate) content: Arc<dyn Content>,
}

/// The content of a file that was opened.
pub(crate) trait Content: Send + Sync {
    /// A part of it, which lies in the file.
    fn read(&self, range: Range<u64>) -> BoxFuture<'_, io::Result<Bytes>>;

    /// How much is read at a time by those who read all of it, in bytes.
    fn window(&self) -> u64;
}

/// A file that is being written.
pub(crate) trait Draft: Send {
    fn write(&mut self, piece: Bytes) -> BoxFuture<'_, io::Result<()>>;

    /// Gives the file its key.
    fn publish(self: Box<Self>) -> BoxFuture<'static, Result<(), Error>>;

    /// Gives the file its key and time in the place of another one, unless that is not there any more; tells whether it did.
    fn publish_instead(self: Box<Self>, of: Raw) -> BoxFuture<'static, Result<bool, Error>>;
}
