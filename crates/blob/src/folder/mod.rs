//! A directory of files.

mod lock;
mod walk;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use assisted_base::failpoint;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::io::Errno;
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use crate::backend::{Backend, Content, Draft, Raw};
use crate::error::Error;
use crate::key::{Key, UNFINISHED};
use crate::object::Object;
use lock::Lock;

/// After so long a file that was begun is not being written any more: its writer died.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Tries to put a file into a folder that others remove because it is empty.
const TRIES: usize = 100;

/// Longest value of an extended attribute.
const LONGEST_ATTRIBUTE: usize = 256;

/// Bytes that are read at a time.
const WINDOW: u64 = 256 << 10;

/// A directory of files.
#[derive(Debug)]
pub(crate) struct Folder {
    root: Arc<Path>,
}

impl Folder {
    /// Opens a directory; makes it, for its owner only, when it is not there.
    pub(crate) async fn open(root: PathBuf) -> Result<Self, Error> {
        blocking(move || {
            let unfinished = root.join(UNFINISHED);
            DirBuilder::new().recursive(true).mode(0o700).create(&unfinished).map_err(Error::Open)?;
            sweep(&unfinished).map_err(Error::Open)?;
            lock::create(&root).map_err(Error::Open)?;
            Ok(Self { root: root.into() })
        })
        .await
    }

    /// A directory that is only read.
    pub(crate) fn foreign(root: PathBuf) -> Self {
        Self { root: root.into() }
    }
}

impl Backend for Folder {
    fn open<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Raw, Error>> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || {
            let failed = |error| Error::of(&key, "read", error);
            let file = File::open(key.path(&root)).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if !metadata.is_file() {
                return Err(Error::Shadowed(key));
            }
            let object = Object::of(&metadata).map_err(failed)?;
            Ok(Raw { object, version: version(&metadata), content: Arc::new(Opened(Arc::new(file))) })
        })
        .boxed()
    }

    fn put<'a>(&'a self, key: &'a Key, content: Bytes) -> BoxFuture<'a, Result<(), Error>> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || {
            let mut unfinished = Unfinished::new(&root);
            let written = unfinished.create().and_then(|mut file| {
                file.write_all(&content)?;
                file.sync_all()
            });
            written.map_err(|error| Error::of(&key, "written", error))?;
            unfinished.publish(&key)
        })
        .boxed()
    }

    fn begin<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Box<dyn Draft>, Error>> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || {
            let unfinished = Unfinished::new(&root);
            let file = unfinished.create().map_err(|error| Error::of(&key, "written", error))?;
            let draft: Box<dyn Draft> =
                Box::new(FileDraft { key, unfinished, file: tokio::fs::File::from_std(file) });
            Ok(draft)
        })
        .boxed()
    }

    fn list<'a>(&'a self, folder: Option<&'a Key>) -> BoxFuture<'a, Result<Vec<(Key, Object)>, Error>> {
        let (root, folder) = (Arc::clone(&self.root), folder.cloned());
        blocking(move || {
            let start = folder.as_ref().map_or_else(|| root.to_path_buf(), |folder| folder.path(&root));
            let mut found = Vec::new();
            walk::files(&root, &start, &mut |key, object| found.push((key, object))).map_err(|error| {
                match &folder {
                    Some(folder) => Error::of(folder, "listed", error),
                    None => Error::Open(error),
                }
            })?;
            Ok(found)
        })
        .boxed()
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, Error>> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || remove(&root, &key)).boxed()
    }

    fn attribute<'a>(&'a self, key: &'a Key, name: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>> {
        let (path, key, name) = (key.path(&self.root), key.clone(), format!("user.{name}"));
        blocking(move || {
            let mut value = [0; LONGEST_ATTRIBUTE];
            match rustix::fs::getxattr(&path, &*name, &mut value[..]) {
                Ok(length) => {
                    Ok(value.get(..length).map(|value| String::from_utf8_lossy(value).into_owned()))
                }
                Err(Errno::NODATA | Errno::NOTSUP | Errno::NOENT | Errno::NOTDIR) => Ok(None),
                Err(error) => Err(Error::of(&key, "read", error.into())),
            }
        })
        .boxed()
    }

    fn usage(&self) -> BoxFuture<'_, Result<Option<u32>, Error>> {
        let root = Arc::clone(&self.root);
        blocking(move || {
            let found = rustix::fs::statvfs(&*root).map_err(|error| Error::Open(error.into()))?;
            let used = found.f_blocks.saturating_sub(found.f_bfree);
            let percent = used.saturating_mul(100).checked_div(found.f_blocks).unwrap_or_default();
            Ok(Some(u32::try_from(percent).unwrap_or(100)))
        })
        .boxed()
    }
}

/// Which of all files it is.
fn version(metadata: &fs::Metadata) -> String {
    format!("{}:{}", metadata.dev(), metadata.ino())
}

/// A file that was opened: who replaces it meanwhile does not change it.
struct Opened(Arc<File>);

impl Content for Opened {
    fn read(&self, range: Range<u64>) -> BoxFuture<'_, io::Result<Bytes>> {
        let file = Arc::clone(&self.0);
        let read = move || {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
            file.read_exact_at(&mut bytes, range.start)?;
            Ok(bytes.into())
        };
        async { tokio::task::spawn_blocking(read).await.map_err(io::Error::other)? }.boxed()
    }

    fn window(&self) -> u64 {
        WINDOW
    }
}

/// A file that comes in pieces.
struct FileDraft {
    key: Key,
    unfinished: Unfinished,
    file: tokio::fs::File,
}

impl FileDraft {
    async fn finish(mut self) -> Result<(Key, Unfinished, File), Error> {
        let synced = async {
            self.file.flush().await?;
            self.file.sync_all().await
        };
        synced.await.map_err(|error| Error::of(&self.key, "written", error))?;
        Ok((self.key, self.unfinished, self.file.into_std().await))
    }
}

impl Draft for FileDraft {
    fn write(&mut self, piece: Bytes) -> BoxFuture<'_, io::Result<()>> {
        async move { self.file.write_all(&piece).await }.boxed()
    }

    fn publish(self: Box<Self>) -> BoxFuture<'static, Result<(), Error>> {
        async {
            let (key, mut unfinished, _) = self.finish().await?;
            blocking(move || unfinished.publish(&key)).await
        }
        .boxed()
    }

    fn publish_instead(self: Box<Self>, of: Raw) -> BoxFuture<'static, Result<bool, Error>> {
        async {
            let (key, mut unfinished, file) = self.finish().await?;
            blocking(move || {
                let put_at = SystemTime::from(of.object.modified_at);
                file.set_modified(put_at).map_err(|error| Error::of(&key, "sealed", error))?;
                unfinished.publish_instead(&key, &of)
            })
            .await
        }
        .boxed()
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
        let _lock = Lock::shared(&self.root).map_err(|error| Error::of(key, "written", error))?;
        self.publish_now(key)
    }

    /// Gives the file its key in place of the one that was opened, unless that is not there any more; tells whether it did.
    fn publish_instead(&mut self, key: &Key, of: &Raw) -> Result<bool, Error> {
        let failed = |error| Error::of(key, "sealed", error);
        let _lock = Lock::exclusive(&self.root).map_err(failed)?;
        let is_there = match fs::metadata(key.path(&self.root)) {
            Ok(found) => version(&found) == of.version,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                false
            }
            Err(error) => return Err(failed(error)),
        };
        if is_there {
            self.publish_now(key)?;
        }
        Ok(is_there)
    }

    fn publish_now(&mut self, key: &Key) -> Result<(), Error> {
        let target = key.path(&self.root);
        let folder = target.parent().unwrap_or(&self.root);
        let failed = |error| Error::of(key, "written", error);
        let mut tries = 1;
        loop {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            match made.and_then(|()| fs::rename(&self.path, &target)) {
                Ok(()) => break,
                // Making the folder sees it, and a moment later sees it no more.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
                        && tries < TRIES =>
                {
                    tries += 1;
                }
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

fn remove(root: &Path, key: &Key) -> Result<bool, Error> {
    let path = key.path(root);
    let _lock = Lock::shared(root).map_err(|error| Error::of(key, "deleted", error))?;
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
        if entry.file_name() == lock::FILE {
            continue;
        }
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
