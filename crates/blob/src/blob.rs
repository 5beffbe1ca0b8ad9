//! Files by key, wherever they are kept: sealed if there are keys, and within limits.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use assisted_base::failpoint;
use assisted_seal::Keyring;
use assisted_seal::file::Sealer;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt, TryStreamExt};

use crate::backend::{Backend, Draft};
use crate::error::Error;
use crate::folder::Folder;
use crate::key::Key;
use crate::object::Object;
use crate::s3::{Bucket, S3};
use crate::sealed::{self, Stored, refused};

/// Files whose beginnings are read at the same time.
const AT_ONCE: usize = 16;

/// Files by key. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Blob {
    backend: Arc<dyn Backend>,
    is_bucket: bool,
    /// Those that files are sealed with; `None`: they are not.
    keys: Option<Keyring>,
}

impl Blob {
    /// Opens a directory; makes it, for its owner only, when it is not there.
    pub async fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        Ok(Self { backend: Arc::new(Folder::open(root.into()).await?), is_bucket: false, keys: None })
    }

    /// Opens a directory of another program to read it: nothing is made in it, not even the directory.
    pub fn foreign(root: impl Into<PathBuf>) -> Self {
        Self { backend: Arc::new(Folder::foreign(root.into())), is_bucket: false, keys: None }
    }

    /// Opens a bucket of S3, or of what speaks as it does.
    pub async fn bucket(place: S3) -> Result<Self, Error> {
        Ok(Self { backend: Arc::new(Bucket::open(place).await?), is_bucket: true, keys: None })
    }

    /// The same files, sealed with the one of these keys that seals, and opened with all of them.
    #[must_use]
    pub fn sealed(self, keys: Keyring) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Whether the files are in a bucket.
    pub fn is_bucket(&self) -> bool {
        self.is_bucket
    }

    /// Seals files that are not sealed with the newest key: those of an older program, and those that an older key has sealed. It can
    /// be ended at any point and begun again; gives the number of files.
    pub async fn seal_files(&self) -> Result<u64, Error> {
        let Some(keys) = &self.keys else { return Ok(0) };
        let (primary, mut sealed) = (keys.primary().id(), 0);
        for (key, _) in self.backend.list(None).await? {
            match self.stored(&key).await {
                Ok(stored) if stored.sealed_with != Some(primary) => {
                    sealed += self.reseal(&key, &stored, keys).await?;
                }
                // Deleted meanwhile.
                Ok(_) | Err(Error::NotFound(_) | Error::Shadowed(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sealed)
    }

    /// How full the file system of a directory is, percent; `None` where there is no end to the room.
    pub async fn usage(&self) -> Result<Option<u32>, Error> {
        self.backend.usage().await
    }

    /// Puts a file under a key, in place of one that was there.
    pub async fn put(&self, key: &Key, content: impl Into<Bytes>) -> Result<(), Error> {
        let (content, keys, place) = (content.into(), self.keys.clone(), key.clone());
        let sealed = tokio::task::spawn_blocking(move || sealed::seal(keys.as_ref(), &place, content)).await;
        let sealed = sealed.map_err(|_| Error::Stopped)?.map_err(|error| Error::of(key, "written", error))?;
        step(key, "put", "written", self.backend.put(key, sealed)).await
    }

    /// Puts a file that comes in pieces, of at most `limit` bytes; gives its size.
    pub async fn put_stream<S>(&self, key: &Key, content: S, limit: u64) -> Result<u64, Error>
    where
        S: Stream<Item = io::Result<Bytes>>,
    {
        let failed = |error| Error::of(key, "written", error);
        let mut writer =
            Writer::new(self.backend.begin(key).await?, key, self.keys.as_ref()).map_err(failed)?;
        let mut size = 0;
        futures::pin_mut!(content);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(failed)?;
            size += piece.len() as u64;
            if size > limit {
                return Err(Error::TooLarge { key: key.clone(), limit });
            }
            writer.write(piece).await.map_err(failed)?;
        }
        writer.finish().await.map_err(failed)?.publish().await?;
        Ok(size)
    }

    /// Reads a file of at most `limit` bytes.
    pub async fn get(&self, key: &Key, limit: u64) -> Result<Bytes, Error> {
        let stored = self.stored(key).await?;
        if stored.object.size > limit {
            return Err(Error::TooLarge { key: key.clone(), limit });
        }
        stored.read(&(0..stored.object.size)).await.map_err(|error| Error::of(key, "read", error))
    }

    /// Reads a part of a file; what lies past its end is left out.
    pub async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, Error> {
        let stored = self.stored(key).await?;
        stored.read(&range).await.map_err(|error| Error::of(key, "read", error))
    }

    /// Reads a file, or a part of it, in pieces. A file that is replaced meanwhile is read to its old end from a directory; from a
    /// bucket that is an error.
    pub async fn stream(
        &self,
        key: &Key,
        range: Option<Range<u64>>,
    ) -> Result<(Object, impl Stream<Item = io::Result<Bytes>> + Send + use<>), Error> {
        let stored = self.stored(key).await?;
        let object = stored.object;
        let range = sealed::clip(&range.unwrap_or(0..object.size), object.size);
        let pieces = futures::stream::try_unfold((stored, range), |(stored, range)| async move {
            if range.is_empty() {
                return Ok(None);
            }
            let piece = stored.piece(&range).await?;
            if piece.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let rest = range.start + piece.len() as u64..range.end;
            Ok(Some((piece, (stored, rest))))
        });
        Ok((object, pieces))
    }

    /// What is known of a file; `None` when it is not there.
    pub async fn metadata(&self, key: &Key) -> Result<Option<Object>, Error> {
        match self.stored(key).await {
            Ok(stored) => Ok(Some(stored.object)),
            Err(Error::NotFound(_) | Error::Shadowed(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether there is a file.
    pub async fn exists(&self, key: &Key) -> Result<bool, Error> {
        Ok(self.metadata(key).await?.is_some())
    }

    /// The files below a folder in the order of their keys, or the file of this key; a folder that is not there is empty.
    pub async fn list(&self, folder: &Key) -> Result<Vec<(Key, Object)>, Error> {
        let mut found = step(folder, "list", "listed", self.backend.list(Some(folder))).await?;
        if self.keys.is_some() {
            // A sealed file is longer than what it holds.
            let sized = found.into_iter().map(|(key, _)| async move {
                let object = self.metadata(&key).await?;
                Ok::<_, Error>(object.map(|object| (key, object)))
            });
            let sized = futures::stream::iter(sized).buffer_unordered(AT_ONCE);
            found = sized.try_filter_map(|one| async { Ok(one) }).try_collect().await?;
        }
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// All files with what is known of them as they are kept, in the order of their keys.
    pub async fn all(&self) -> Result<Vec<(Key, Object)>, Error> {
        let mut found = self.backend.list(None).await?;
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// What another program has noted on a file under a name; `None`: nothing, or there is no such file.
    pub async fn attribute(&self, key: &Key, name: &str) -> Result<Option<String>, Error> {
        self.backend.attribute(key, name).await
    }

    /// Deletes a file; returns whether it was there.
    pub async fn delete(&self, key: &Key) -> Result<bool, Error> {
        step(key, "delete", "deleted", self.backend.delete(key)).await
    }

    /// Deletes all files below a folder, or the file of this key; returns how many there were. Also those that can't be opened.
    pub async fn delete_all(&self, folder: &Key) -> Result<u64, Error> {
        let found = step(folder, "list", "listed", self.backend.list(Some(folder))).await?;
        let deleted = found.into_iter().map(|(key, _)| async move { self.delete(&key).await });
        let deleted = futures::stream::iter(deleted).buffer_unordered(AT_ONCE);
        deleted.try_fold(0, |count, was_there| async move { Ok(count + u64::from(was_there)) }).await
    }

    async fn stored(&self, key: &Key) -> Result<Stored, Error> {
        Stored::open(&*self.backend, key, self.keys.as_ref()).await
    }

    /// Writes a file anew, sealed with the newest key; 1 if it did.
    async fn reseal(&self, key: &Key, stored: &Stored, keys: &Keyring) -> Result<u64, Error> {
        let failed = |error| Error::of(key, "sealed", error);
        let mut writer = Writer::new(self.backend.begin(key).await?, key, Some(keys)).map_err(failed)?;
        let (mut at, size) = (0, stored.object.size);
        while at < size {
            let piece = stored.piece(&(at..size)).await.map_err(failed)?;
            at += piece.len() as u64;
            writer.write(piece).await.map_err(failed)?;
        }
        let draft = writer.finish().await.map_err(failed)?;
        // Whoever has put another one meanwhile has sealed it.
        draft.publish_instead(stored.raw.clone()).await.map(u64::from)
    }
}

/// What is done to a file or folder as a whole, as a step of some work.
async fn step<T>(
    key: &Key,
    deed: &str,
    what: &'static str,
    work: BoxFuture<'_, Result<T, Error>>,
) -> Result<T, Error> {
    let failed = |error| Error::of(key, what, error);
    let step = failpoint::begin(|| format!("{deed} {key}")).map_err(failed)?;
    let done = work.await?;
    step.end().map_err(failed)?;
    Ok(done)
}

/// Writes a file in pieces, sealed if there are keys.
struct Writer {
    draft: Box<dyn Draft>,
    sealer: Option<Sealer>,
}

impl Writer {
    fn new(draft: Box<dyn Draft>, key: &Key, keys: Option<&Keyring>) -> io::Result<Self> {
        let sealer = keys.map(|keys| Sealer::new(keys, &sealed::place(key)));
        Ok(Self { draft, sealer: sealer.transpose().map_err(refused)? })
    }

    async fn write(&mut self, piece: Bytes) -> io::Result<()> {
        let piece = match &mut self.sealer {
            Some(sealer) => sealer.push(&piece).map_err(refused)?.into(),
            None => piece,
        };
        if piece.is_empty() { Ok(()) } else { self.draft.write(piece).await }
    }

    /// All but giving the file its key.
    async fn finish(mut self) -> io::Result<Box<dyn Draft>> {
        if let Some(sealer) = self.sealer {
            self.draft.write(sealer.finish().map_err(refused)?.into()).await?;
        }
        Ok(self.draft)
    }
}
