//! A directory of files by key.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use assisted_base::failpoint;
use assisted_seal::Keyring;
use assisted_seal::file::Sealer;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use crate::error::Error;
use crate::key::{Key, UNFINISHED};
use crate::lock::{self, Lock};
use crate::object::Object;
use crate::sealed::{self, Stored, refused};
use crate::walk;

/// After so long a file that was begun is not being written any more: its writer died.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Tries to put a file into a folder that others remove because it is empty.
const TRIES: usize = 100;

/// A directory of files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Blob {
    root: Arc<Path>,
    /// Those that files are sealed with; `None`: they are not.
    keys: Option<Keyring>,
}

impl Blob {
    /// Opens a directory; makes it, for its owner only, when it is not there.
    pub async fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        blocking(move || {
            let unfinished = root.join(UNFINISHED);
            DirBuilder::new().recursive(true).mode(0o700).create(&unfinished).map_err(Error::Open)?;
            sweep(&unfinished).map_err(Error::Open)?;
            lock::create(&root).map_err(Error::Open)?;
            Ok(Self { root: root.into(), keys: None })
        })
        .await
    }

    /// The same directory, whose files are sealed with the one of these keys that seals, and opened with all of them.
    #[must_use]
    pub fn sealed(self, keys: Keyring) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Seals files that are not sealed with the newest key: those of an older program, and those that an older key has sealed. It can
    /// be ended at any point and begun again; gives the number of files.
    pub async fn seal_files(&self) -> Result<u64, Error> {
        let Some(keys) = self.keys.clone() else { return Ok(0) };
        let root = Arc::clone(&self.root);
        blocking(move || {
            let (mut files, primary) = (Vec::new(), keys.primary().id());
            walk::files(&root, &root, &mut |key, _| files.push(key)).map_err(Error::Open)?;
            let mut sealed = 0;
            for key in files {
                match Stored::open(&root, &key, Some(&keys)) {
                    Ok(stored) if stored.sealed_with != Some(primary) => {
                        sealed += reseal(&root, &key, &stored, &keys)?;
                    }
                    // Deleted meanwhile.
                    Ok(_) | Err(Error::NotFound(_) | Error::Shadowed(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(sealed)
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
        let keys = self.keys.clone();
        blocking(move || {
            let content = sealed::seal(keys.as_ref(), &key, content)
                .map_err(|error| Error::of(&key, "written", error))?;
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
        let sealer = self.keys.as_ref().map(|keys| Sealer::new(keys, &sealed::place(key)));
        let mut sealer = sealer.transpose().map_err(|error| failed(refused(error)))?;
        futures::pin_mut!(content);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(failed)?;
            size += piece.len() as u64;
            if size > limit {
                return Err(Error::TooLarge { key: key.clone(), limit });
            }
            let piece = match &mut sealer {
                Some(sealer) => sealer.push(&piece).map_err(|error| failed(refused(error)))?.into(),
                None => piece,
            };
            file.write_all(&piece).await.map_err(failed)?;
        }
        if let Some(sealer) = sealer {
            let end = sealer.finish().map_err(|error| failed(refused(error)))?;
            file.write_all(&end).await.map_err(failed)?;
        }
        file.flush().await.map_err(failed)?;
        file.sync_all().await.map_err(failed)?;
        let key = key.clone();
        blocking(move || unfinished.publish(&key)).await?;
        Ok(size)
    }

    /// Reads a file of at most `limit` bytes.
    pub async fn get(&self, key: &Key, limit: u64) -> Result<Bytes, Error> {
        let asked = key.clone();
        self.open_stored(key, move |stored| {
            if stored.object.size > limit {
                return Err(Error::TooLarge { key: asked, limit });
            }
            stored.read(&(0..stored.object.size)).map_err(|error| Error::of(&asked, "read", error))
        })
        .await
    }

    /// Reads a part of a file; what lies past its end is left out.
    pub async fn get_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, Error> {
        let asked = key.clone();
        self.open_stored(key, move |stored| {
            stored.read(&range).map_err(|error| Error::of(&asked, "read", error))
        })
        .await
    }

    /// Reads a file, or a part of it, in pieces. A file that is replaced meanwhile is read to its old end.
    pub async fn stream(
        &self,
        key: &Key,
        range: Option<Range<u64>>,
    ) -> Result<(Object, impl Stream<Item = io::Result<Bytes>> + Send + use<>), Error> {
        let stored = Arc::new(self.open_stored(key, Ok).await?);
        let object = stored.object;
        let range = sealed::clip(&range.unwrap_or(0..object.size), object.size);
        let pieces = futures::stream::try_unfold((stored, range), |(stored, range)| async move {
            if range.is_empty() {
                return Ok(None);
            }
            let reading = Arc::clone(&stored);
            let asked = range.clone();
            let piece = tokio::task::spawn_blocking(move || reading.piece(asked))
                .await
                .map_err(io::Error::other)??;
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
        match self.open_stored(key, |stored| Ok(stored.object)).await {
            Ok(object) => Ok(Some(object)),
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
        let (root, folder, keys) = (Arc::clone(&self.root), folder.clone(), self.keys.clone());
        blocking(move || {
            let mut found = Vec::new();
            walk::files(&root, &folder.path(&root), &mut |key, object| found.push((key, object)))
                .map_err(|error| Error::of(&folder, "listed", error))?;
            if keys.is_some() {
                // A sealed file is longer than what it holds.
                found = found
                    .into_iter()
                    .filter_map(|(key, _)| sized(&root, key, keys.as_ref()))
                    .collect::<Result<_, _>>()?;
            }
            found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            Ok(found)
        })
        .await
    }

    /// Opens a file, and does something with it.
    async fn open_stored<T: Send + 'static>(
        &self,
        key: &Key,
        work: impl FnOnce(Stored) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (root, key, keys) = (Arc::clone(&self.root), key.clone(), self.keys.clone());
        blocking(move || work(Stored::open(&root, &key, keys.as_ref())?)).await
    }

    /// Deletes a file; returns whether it was there.
    pub async fn delete(&self, key: &Key) -> Result<bool, Error> {
        let (root, key) = (Arc::clone(&self.root), key.clone());
        blocking(move || remove(&root, &key)).await
    }

    /// Deletes all files below a folder, or the file of this key; returns how many there were.
    pub async fn delete_all(&self, folder: &Key) -> Result<u64, Error> {
        let (root, folder) = (Arc::clone(&self.root), folder.clone());
        blocking(move || {
            // Also those that can't be opened.
            let mut keys = Vec::new();
            walk::files(&root, &folder.path(&root), &mut |key, _| keys.push(key))
                .map_err(|error| Error::of(&folder, "listed", error))?;
            keys.iter().try_fold(0, |count, key| Ok(count + u64::from(remove(&root, key)?)))
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
        let _lock = Lock::shared(&self.root).map_err(|error| Error::of(key, "written", error))?;
        self.publish_now(key)
    }

    /// Gives the file its key in place of the one that was opened, unless that is not there any more; tells whether it did.
    fn publish_instead(&mut self, key: &Key, of: &Stored) -> Result<bool, Error> {
        let failed = |error| Error::of(key, "sealed", error);
        let _lock = Lock::exclusive(&self.root).map_err(failed)?;
        let is_there = of.is_at(&key.path(&self.root)).map_err(failed)?;
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

/// A file with the size of its content; `None` when it was deleted meanwhile.
fn sized(root: &Path, key: Key, keys: Option<&Keyring>) -> Option<Result<(Key, Object), Error>> {
    match Stored::open(root, &key, keys) {
        Ok(stored) => Some(Ok((key, stored.object))),
        Err(Error::NotFound(_) | Error::Shadowed(_)) => None,
        Err(error) => Some(Err(error)),
    }
}

/// Writes a file anew, sealed with the newest key; 1 if it did.
fn reseal(root: &Arc<Path>, key: &Key, stored: &Stored, keys: &Keyring) -> Result<u64, Error> {
    let mut unfinished = Unfinished::new(root);
    let write = || -> io::Result<()> {
        let mut file = unfinished.create()?;
        let mut sealer = Sealer::new(keys, &sealed::place(key)).map_err(refused)?;
        let mut at = 0;
        while at < stored.object.size {
            let piece = stored.piece(at..stored.object.size)?;
            at += piece.len() as u64;
            file.write_all(&sealer.push(&piece).map_err(refused)?)?;
        }
        file.write_all(&sealer.finish().map_err(refused)?)?;
        file.set_modified(stored.modified()?)?;
        file.sync_all()
    };
    write().map_err(|error| Error::of(key, "sealed", error))?;
    // Whoever has put another one meanwhile has sealed it.
    unfinished.publish_instead(key, stored).map(u64::from)
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
