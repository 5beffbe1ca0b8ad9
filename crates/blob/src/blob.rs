//! A directory of files by key.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use assisted_base::failpoint;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio_util::io::ReaderStream;
use uuid::Uuid;

use crate::error::Error;
use crate::key::{Key, UNFINISHED};
use crate::object::Object;
use crate::walk;

/// After so long a file that was begun is not being written any more: its writer died.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Tries to put a file into a folder that others remove because it is empty.
const TRIES: usize = 100;

/// Bytes of one piece of a stream.
const PIECE: usize = 256 * 1024;

/// A directory of files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Blob {
    root: Arc<Path>,
}

impl Blob {
    /// Opens a directory; makes it, for its owner only, when it is not there.
    pub async fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        blocking(move || {
            let unfinished = root.join(UNFINISHED);
            DirBuilder::new().recursive(true).mode(0o700).create(&unfinished).map_err(Error::Open)?;
            sweep(&unfinished).map_err(Error::Open)?;
            Ok(Self { root: root.into() })
        })
        .await
    }

    /// How full the file system of the directory is, percent.
    pub async fn usage(&self) -> Result<u32, Error> {
        let root = Arc::clone(&self.root);
        blocking(move || {
            let found = rustix::fs::statvfs(&*root).map_err(|error| Error::Open(error.into()))?;
            let used = found.f_blocks.saturating_sub(found.f_bfree);
            let percent = used.saturating_mul(100).checked_div(found.f_blocks).unwrap_or_default();
            Ok(u32::try_from(percent).unwrap_or(100))
        })
        .await
    }

    /// Puts a file under a key, in place of one that was there.
    pub async fn put(&self, key: &Key, content: impl Into<Bytes>) -> Result<(), Error> {
        let (root, key, content) = (Arc::clone(&self.root), key.clone(), content.into());
        blocking(move || {
            let mut unfinished = Unfinished::new(&root);
            let written = unfinished.create().and_then(|mut file| {
                file.write_all(&content)?;
                file.sync_all()
            });
            written.map_err(|error| Error::of(&key, "written", error))?;
            unfinished.publish(&key)
        })
        .await
    }

    /// Puts a file that comes in pieces, of at most `limit` bytes; gives its size.
    pub async fn put_stream<S>(&self, key: &Key, content: S, limit: u64) -> Result<u64, Error>
    where
        S: Stream<Item = io::Result<Bytes>>,
    {
        let failed = |error| Error::of(key, "written", error);
        let unfinished = Unfinished::new(&self.root);
        let (created, mut unfinished) = blocking(move || Ok((unfinished.create(), unfinished))).await?;
        let mut file = tokio::fs::File::from_std(created.map_err(failed)?);
        let mut size = 0;
        futures::pin_mut!(content);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(failed)?;
            size += piece.len() as u64;
            if size > limit {
                return Err(Error::TooLarge { key: key.clone(), limit });
            }
            file.write_all(&piece).await.map_err(failed)?;
        }
        file.flush().await.map_err(failed)?;
        file.sync_all().await.map_err(failed)?;
        let key = key.clone();
        blocking(move || unfinished.publish(&key)).await?;
        Ok(size)
    }

    /// Reads a file of at most `limit` bytes.
    pub async fn get(&self, key: &Key, limit: u64) -> Result<Bytes, Error> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || {
            let (file, object) = open(&root, &key)?;
            if object.size > limit {
                return Err(Error::TooLarge { key, limit });
            }
            read(file, object.size).map_err(|error| Error::of(&key, "read", error))
        })
        .await
    }

    /// Reads a part of a file; what lies past its end is left out.
    pub async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, Error> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || {
            let (mut file, object) = open(&root, &key)?;
            let range = clip(&range, object.size);
            file.seek(SeekFrom::Start(range.start))
                .and_then(|_| read(file, range.end - range.start))
                .map_err(|error| Error::of(&key, "read", error))
        })
        .await
    }

    /// Reads a file, or a part of it, in pieces. A file that is replaced meanwhile is read to its old end.
    pub async fn stream(
        &self,
        key: &Key,
        range: Option<Range<u64>>,
    ) -> Result<(Object, impl Stream<Item = io::Result<Bytes>> + Send + use<>), Error> {
        let (root, asked) = (Arc::clone(&self.root), key.clone());
        let (file, object) = blocking(move || open(&root, &asked)).await?;
        let range = clip(&range.unwrap_or(0..object.size), object.size);
        let mut file = tokio::fs::File::from_std(file);
        file.seek(SeekFrom::Start(range.start)).await.map_err(|error| Error::of(key, "read", error))?;
        Ok((object, ReaderStream::with_capacity(file.take(range.end - range.start), PIECE)))
    }

    /// What is known of a file; `None` when it is not there.
    pub async fn metadata(&self, key: &Key) -> Result<Option<Object>, Error> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || match open(&root, &key) {
            Ok((_, object)) => Ok(Some(object)),
            Err(Error::NotFound(_) | Error::Shadowed(_)) => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    /// Whether there is a file.
    pub async fn exists(&self, key: &Key) -> Result<bool, Error> {
        Ok(self.metadata(key).await?.is_some())
    }

    /// The files below a folder in the order of their keys, or the file of this key; a folder that is not there is empty.
    pub async fn list(&self, folder: &Key) -> Result<Vec<(Key, Object)>, Error> {
        let (root, folder) = (Arc::clone(&self.root), folder.clone());
        blocking(move || {
            let mut found = Vec::new();
            walk::files(&root, &folder.path(&root), &mut |key, object| found.push((key, object)))
                .map_err(|error| Error::of(&folder, "listed", error))?;
            found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            Ok(found)
        })
        .await
    }

    /// Deletes a file; returns whether it was there.
    pub async fn delete(&self, key: &Key) -> Result<bool, Error> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || remove(&root, &key)).await
    }

    /// Deletes all files below a folder, or the file of this key; returns how many there were.
    pub async fn delete_all(&self, folder: &Key) -> Result<u64, Error> {
        let keys = self.list(folder).await?;
        let root = Arc::clone(&self.root);
        blocking(move || {
            keys.iter().try_fold(0, |count, (key, _)| Ok(count + u64::from(remove(&root, key)?)))
        })
        .await
    }
}

/// A file that is being written; removed when it is dropped before it is published.
struct Unfinished {
    root: Arc<Path>,
    path: PathBuf,
    published: bool,
}

impl Unfinished {
    fn new(root: &Arc<Path>) -> Self {
        let path = root.join(UNFINISHED).join(Uuid::new_v4().to_string());
        Self { root: Arc::clone(root), path, published: false }
    }

    fn create(&self) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)
    }

    /// Gives the file its key; it must be on disk.
    fn publish(&mut self, key: &Key) -> Result<(), Error> {
        let target = key.path(&self.root);
        let folder = target.parent().unwrap_or(&self.root);
        let failed = |error| Error::of(key, "written", error);
        let mut tries = 1;
        loop {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            match made.and_then(|()| fs::rename(&self.path, &target)) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => tries += 1,
                Err(error) => return Err(failed(error)),
            }
        }
        self.published = true;
        walk::sync_folders(&self.root, &target).map_err(failed)?;
        failpoint::passed(|| vec![format!("put {}", key.name())]);
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.published {
            // Perhaps never made; what is left behind is swept when the directory is opened.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn open(root: &Path, key: &Key) -> Result<(File, Object), Error> {
    let failed = |error| Error::of(key, "read", error);
    let file = File::open(key.path(root)).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::Shadowed(key.clone()));
    }
    Ok((file, Object::of(&metadata).map_err(failed)?))
}

fn read(file: File, size: u64) -> io::Result<Bytes> {
    let mut content = Vec::with_capacity(usize::try_from(size).map_err(io::Error::other)?);
    file.take(size).read_to_end(&mut content)?;
    Ok(content.into())
}

fn clip(range: &Range<u64>, size: u64) -> Range<u64> {
    let start = range.start.min(size);
    start..range.end.clamp(start, size)
}

fn remove(root: &Path, key: &Key) -> Result<bool, Error> {
    let path = key.path(root);
    match fs::remove_file(&path) {
        Ok(()) => {
            walk::prune(root, &path);
            failpoint::passed(|| vec![format!("delete {}", key.name())]);
            Ok(true)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(Error::of(key, "deleted", error)),
    }
}

/// Removes what dead writers left behind; what others write now is younger.
fn sweep(unfinished: &Path) -> io::Result<()> {
    for entry in fs::read_dir(unfinished)? {
        let entry = entry?;
        let age = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .map(|modified| SystemTime::now().duration_since(modified).unwrap_or_default());
        if age.is_ok_and(|age| age > ABANDONED) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Stopped)?
}
