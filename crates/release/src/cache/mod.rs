//! Installer programs that were taken out of releases, kept for the next cluster (install-generation §3.2).
//!
//! Bounded in bytes; what was not used for the longest time goes first, and never what is in use. An entry appears whole or
//! not at all, and is compared with its digest before it is used for the first time after a start. Many who want the same
//! program at once wait for one download.

mod entry;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use assisted_wire::cluster_params::CpuArchitecture;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Notify};

use crate::error::PullError;
use crate::image::go_name;
use crate::installer::{Extracted, Program};
use crate::reference::{Digest, Reference};
use entry::EntryRecord;

const LOCK: &str = "lock";
const ENTRIES: &str = "entries";
/// What is being made or removed; whatever is in it at a start is left over.
const SCRATCH: &str = "scratch";
const PROGRAM: &str = "program";

/// Why a program is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error(transparent)]
    Pull(#[from] PullError),
    #[error("the cache of installer programs at {path} can't be used: {source}")]
    Disk { path: PathBuf, source: io::Error },
    #[error("the cache of installer programs at {0} is used by another process: give each its own")]
    Busy(PathBuf),
    #[error(
        "the cache of installer programs is smaller ({capacity} bytes) than one program may be ({largest} bytes)"
    )]
    TooSmall { capacity: u64, largest: u64 },
    #[error("the program has stopped")]
    Stopped,
}

/// How large the cache may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of all programs together; 0 sets no bound.
    pub capacity: u64,
    /// Bytes of one program at the most. So much must be free before one is fetched.
    pub largest: u64,
}

/// Which program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The release, by digest.
    pub release: Reference,
    pub program: Program,
    /// The architecture that it runs on.
    pub host: CpuArchitecture,
}

impl Key {
    /// What the entry is called on disk.
    fn name(&self) -> String {
        let text = format!("{} {} {}", self.release, self.program.name(), go_name(self.host));
        Digest::of(text.as_bytes()).hex()
    }
}

/// What the cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub programs: usize,
    pub bytes: u64,
    pub in_use: usize,
}

/// The cache.
#[derive(Clone, Debug)]
pub struct Cache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    bounds: Bounds,
    state: Mutex<State>,
    /// Told when a program is no longer in use, or a download has ended.
    freed: Notify,
    /// Held as long as the cache is open.
    _lock: File,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<String, Entry>,
    /// Bytes that downloads under way may need.
    reserved: u64,
    uses: u64,
    downloads: u64,
    turns: HashMap<String, Weak<AsyncMutex<()>>>,
}

#[derive(Debug)]
struct Entry {
    made: Extracted,
    leases: usize,
    /// Higher for what was used later.
    used: u64,
    checked: bool,
}

/// A program in use: it stays where it is until this is dropped.
#[derive(Debug)]
pub struct Lease {
    cache: Arc<Inner>,
    name: String,
    path: PathBuf,
    /// Whether it was there already.
    pub was_cached: bool,
    /// Whether others were removed to make room for it; `None`: there was room.
    pub evicted: Option<bool>,
}

impl Lease {
    /// The program, executable.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(entry) = self.cache.state.lock().entries.get_mut(&self.name) {
            entry.leases = entry.leases.saturating_sub(1);
        }
        self.cache.freed.notify_waiters();
    }
}

impl Cache {
    /// Opens a cache in a folder, which is made if need be. Entries that are not whole are removed; this reads and writes the
    /// disk.
    ///
    /// # Errors
    ///
    /// See [`CacheError`].
    pub fn open(dir: &Path, bounds: Bounds) -> Result<Self, CacheError> {
        let Bounds { capacity, largest } = bounds;
        if capacity > 0 && capacity < largest {
            return Err(CacheError::TooSmall { capacity, largest });
        }
        let failed = |source| CacheError::Disk { path: dir.to_owned(), source };
        std::fs::create_dir_all(dir.join(ENTRIES)).map_err(failed)?;
        let lock = File::create(dir.join(LOCK)).map_err(failed)?;
        match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(CacheError::Busy(dir.to_owned())),
            Err(error) => return Err(failed(error.into())),
        }
        entry::clear(&dir.join(SCRATCH)).map_err(failed)?;
        let mut state = State::default();
        for (name, made) in entry::found(&dir.join(ENTRIES)).map_err(failed)? {
            state.uses += 1;
            state.entries.insert(name, Entry { made, leases: 0, used: state.uses, checked: false });
        }
        let (state, freed) = (Mutex::new(state), Notify::new());
        let inner = Inner { dir: dir.to_owned(), bounds, state, freed, _lock: lock };
        // It may have been larger the last time.
        inner.make_room(0)?;
        Ok(Self(Arc::new(inner)))
    }

    /// A program, fetched if it is not there. `fetch` writes it to a path, and gets the number of bytes that it may write; it is asked
    /// by one at a time for each program. Waits while all room is in use.
    ///
    /// # Errors
    ///
    /// See [`CacheError`]; what `fetch` fails of is passed on.
    pub async fn get<F>(&self, key: &Key, fetch: impl FnOnce(PathBuf, u64) -> F) -> Result<Lease, CacheError>
    where
        F: Future<Output = Result<Extracted, PullError>>,
    {
        let (inner, name) = (&self.0, key.name());
        let turn = inner.turn(&name);
        let _turn = turn.lock().await;
        if let Some(lease) = Inner::cached(inner, &name).await? {
            return Ok(lease);
        }
        let (_reservation, evicted) = Inner::reserve(inner).await?;
        let scratch = inner.scratch()?;
        let made = fetch(scratch.join(PROGRAM), inner.bounds.largest).await?;
        let note = EntryRecord::new(key, made);
        let target = inner.dir.join(ENTRIES).join(&name);
        let keep = {
            let (scratch, target) = (scratch.to_owned(), target.clone());
            move || entry::keep(&scratch, &target, &note)
        };
        blocking(keep).await?.map_err(|source| CacheError::Disk { path: target, source })?;
        tracing::info!(release = %key.release, program = key.program.name(), bytes = made.size, "keeping an installer program");
        let mut state = inner.state.lock();
        state.entries.insert(name.clone(), Entry { made, leases: 0, used: 0, checked: true });
        let mut lease = state.lease(inner, &name, false);
        lease.evicted = evicted;
        Ok(lease)
    }

    /// What it holds.
    pub fn usage(&self) -> Usage {
        let state = self.0.state.lock();
        let in_use = state.entries.values().filter(|entry| entry.leases > 0).count();
        Usage { programs: state.entries.len(), bytes: state.bytes(), in_use }
    }
}

impl State {
    fn bytes(&self) -> u64 {
        self.entries.values().map(|entry| entry.made.size).sum()
    }

    /// Takes an entry into use; the name is that of one.
    fn lease(&mut self, cache: &Arc<Inner>, name: &str, was_cached: bool) -> Lease {
        self.uses += 1;
        if let Some(entry) = self.entries.get_mut(name) {
            entry.leases += 1;
            entry.used = self.uses;
        }
        let path = cache.dir.join(ENTRIES).join(name).join(PROGRAM);
        Lease { cache: Arc::clone(cache), name: name.to_owned(), path, was_cached, evicted: None }
    }
}

/// Bytes that are held free for a download.
struct Reservation<'a>(&'a Inner, u64);

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.reserved = state.reserved.saturating_sub(self.1);
        drop(state);
        self.0.freed.notify_waiters();
    }
}

/// A folder that is gone with this, unless it was moved away.
struct Scratch(PathBuf);

impl std::ops::Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.0.display(), %error, "what a download left behind can't be removed");
            }
            _ => {}
        }
    }
}

impl Inner {
    /// Where those who want the same program wait for each other.
    fn turn(&self, name: &str) -> Arc<AsyncMutex<()>> {
        let mut state = self.state.lock();
        state.turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = state.turns.get(name).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        state.turns.insert(name.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// The program if it is there and what it was.
    async fn cached(inner: &Arc<Self>, name: &str) -> Result<Option<Lease>, CacheError> {
        let (lease, made) = {
            let mut state = inner.state.lock();
            let Some(entry) = state.entries.get(name) else { return Ok(None) };
            let unchecked = (!entry.checked).then_some(entry.made);
            (state.lease(inner, name, true), unchecked)
        };
        let path = lease.path.clone();
        let whole = blocking(move || match made {
            Some(made) => entry::is_whole(&path, made).inspect(|_| entry::touch(&path)),
            None => {
                entry::touch(&path);
                Ok(true)
            }
        });
        match whole.await? {
            Ok(true) => {
                if let Some(entry) = inner.state.lock().entries.get_mut(name) {
                    entry.checked = true;
                }
                Ok(Some(lease))
            }
            failed => {
                let error = failed.err();
                tracing::warn!(path = %lease.path.display(), ?error, "a kept installer program is damaged, it is fetched again");
                drop(lease);
                let inner = Arc::clone(inner);
                let name = name.to_owned();
                blocking(move || inner.remove(&name)).await??;
                Ok(None)
            }
        }
    }

    /// Waits until there is room for a program; whether others were removed for that, `None` when it was there.
    async fn reserve(inner: &Arc<Self>) -> Result<(Reservation<'_>, Option<bool>), CacheError> {
        let largest = if inner.bounds.capacity == 0 { 0 } else { inner.bounds.largest };
        let mut evicted = None;
        loop {
            // Listens from here on: what is freed while room is made counts.
            let freed = inner.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            let making = Arc::clone(inner);
            let (is_enough, removed) = blocking(move || making.make_room(largest)).await??;
            if !is_enough || removed > 0 {
                evicted = Some(removed > 0 || evicted == Some(true));
            }
            if is_enough {
                return Ok((Reservation(inner, largest), evicted));
            }
            tracing::info!("all room for installer programs is in use; waiting");
            freed.await;
        }
    }

    /// Reserves room, for which programs out of use are removed; whether there was enough, and how many were removed.
    fn make_room(&self, wanted: u64) -> Result<(bool, usize), CacheError> {
        let Bounds { capacity, .. } = self.bounds;
        let mut removed = 0;
        loop {
            let oldest = {
                let mut state = self.state.lock();
                if capacity == 0
                    || state.bytes().saturating_add(state.reserved).saturating_add(wanted) <= capacity
                {
                    state.reserved += wanted;
                    return Ok((true, removed));
                }
                let unused = state.entries.iter().filter(|(_, entry)| entry.leases == 0);
                unused.min_by_key(|(_, entry)| entry.used).map(|(name, _)| name.clone())
            };
            let Some(oldest) = oldest else { return Ok((false, removed)) };
            self.remove(&oldest)?;
            removed += 1;
        }
    }

    /// Removes an entry unless it is in use.
    fn remove(&self, name: &str) -> Result<(), CacheError> {
        let mut state = self.state.lock();
        if state.entries.get(name).is_none_or(|entry| entry.leases > 0) {
            return Ok(());
        }
        // While the lock is held: whoever wants it again makes it anew.
        let path = self.dir.join(ENTRIES).join(name);
        let aside = self.dir.join(SCRATCH).join(format!("removed-{name}"));
        entry::remove(&path, &aside).map_err(|source| CacheError::Disk { path, source })?;
        state.entries.remove(name);
        Ok(())
    }

    fn scratch(&self) -> Result<Scratch, CacheError> {
        let number = {
            let mut state = self.state.lock();
            state.downloads += 1;
            state.downloads
        };
        let path = self.dir.join(SCRATCH).join(number.to_string());
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Scratch(path)),
            Err(source) => Err(CacheError::Disk { path, source }),
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, CacheError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| CacheError::Stopped)
}

#[cfg(test)]
mod tests;
