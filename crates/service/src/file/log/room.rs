//! The room that all logs may take together. What is stored is counted from time to time; what arrives in between is added.

use std::time::{Duration, Instant};

use assisted_blob::{Blob, Key};
use assisted_config::Size;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use parking_lot::Mutex;

use crate::Error;

/// How long a count is believed: other replicas add logs, and logs go with their clusters.
const BELIEVED: Duration = Duration::from_secs(5 * 60);

/// How long it is believed that there is no room.
const BELIEVED_FULL: Duration = Duration::from_secs(10);

/// The room of all logs.
#[derive(Debug)]
pub(crate) struct LogRoom {
    /// Bytes at most.
    most: u64,
    taken: Mutex<Taken>,
    /// Held by who counts.
    turn: tokio::sync::Mutex<()>,
}

/// What of it is taken, in bytes.
#[derive(Debug, Default)]
struct Taken {
    stored: u64,
    arriving: u64,
    counted_at: Option<Instant>,
}

impl Taken {
    /// All but what is replaced.
    fn without(&self, replaced: u64) -> u64 {
        self.stored.saturating_sub(replaced).saturating_add(self.arriving)
    }
}

/// Logs on their way into a store. Until they are kept, they give their room back when they are dropped.
#[derive(Debug)]
pub(super) struct Arriving<'a> {
    room: &'a LogRoom,
    bytes: u64,
    /// Bytes that go when these logs are there.
    replaced: u64,
}

impl LogRoom {
    pub(crate) fn new(most: Size) -> Self {
        Self { most: most.0, taken: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Lets logs arrive in place of others of so many bytes.
    ///
    /// # Errors
    ///
    /// 507 when there is no room for a single byte.
    pub(super) async fn admit(&self, blob: &Blob, replaced: u64) -> Result<Arriving<'_>, Error> {
        self.count(blob).await?;
        if self.taken.lock().without(replaced) >= self.most {
            return Err(self.refusal());
        }
        Ok(Arriving { room: self, bytes: 0, replaced })
    }

    /// Why logs that found no room are refused.
    pub(super) fn refusal(&self) -> Error {
        tracing::warn!(
            most = self.most,
            "logs are refused: all that are stored take as much room as they may"
        );
        let text = format!(
            "the service keeps as many logs as it may, MAX_LOG_BYTES={}: delete clusters that nobody needs, or set it higher",
            self.most
        );
        Refusal::new(RefusalKind::OutOfSpace, text).into()
    }

    /// Counts what is stored, unless the last count is still believed.
    async fn count(&self, blob: &Blob) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        if self.is_believed() {
            return Ok(());
        }
        let files = blob.all().await?;
        let stored = files.iter().filter(|(key, _)| is_log(key)).map(|(_, object)| object.size).sum();
        let mut taken = self.taken.lock();
        (taken.stored, taken.counted_at) = (stored, Some(Instant::now()));
        Ok(())
    }

    fn is_believed(&self) -> bool {
        let taken = self.taken.lock();
        let believed = if taken.without(0) >= self.most { BELIEVED_FULL } else { BELIEVED };
        taken.counted_at.is_some_and(|at| at.elapsed() < believed)
    }
}

impl Arriving<'_> {
    /// Takes room for the next bytes, if there is some.
    pub(super) fn take(&mut self, more: u64) -> bool {
        let mut taken = self.room.taken.lock();
        let fits = taken.without(self.replaced).saturating_add(more) <= self.room.most;
        if fits {
            taken.arriving += more;
            self.bytes += more;
        }
        fits
    }

    /// They are stored.
    pub(super) fn keep(self) {
        let mut taken = self.room.taken.lock();
        taken.stored = taken.stored.saturating_add(self.bytes).saturating_sub(self.replaced);
    }
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        let mut taken = self.room.taken.lock();
        taken.arriving = taken.arriving.saturating_sub(self.bytes);
    }
}

/// Whether a file is one of the logs of a cluster.
fn is_log(key: &Key) -> bool {
    key.as_str().split('/').nth(1) == Some("logs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    #[tokio::test]
    async fn what_is_stored_counts_and_what_goes_makes_room() {
        let dir = tempfile::tempdir().unwrap();
        let blob = Blob::open(dir.path()).await.unwrap();
        blob.put(&key("a/logs/controller/logs.tar.gz"), vec![0_u8; 60]).await.unwrap();
        blob.put(&key("a/generated/logs"), vec![0_u8; 1000]).await.unwrap();
        let room = LogRoom::new(Size(100));
        let mut first = room.admit(&blob, 0).await.unwrap();
        assert!(first.take(30) && !first.take(11) && first.take(10));
        // What arrives takes room as well.
        let error = room.admit(&blob, 0).await.unwrap_err();
        assert_eq!(error.kind(), RefusalKind::OutOfSpace);
        // Who puts less in place of more has room.
        assert!(room.admit(&blob, 60).await.unwrap().take(60));
        drop(first);
        let mut second = room.admit(&blob, 0).await.unwrap();
        assert!(second.take(40));
        second.keep();
        room.admit(&blob, 0).await.unwrap_err();

        // It is looked again, not at once.
        blob.delete(&key("a/logs/controller/logs.tar.gz")).await.unwrap();
        room.admit(&blob, 0).await.unwrap_err();
        room.taken.lock().counted_at = Instant::now().checked_sub(BELIEVED_FULL);
        assert!(room.admit(&blob, 0).await.unwrap().take(100));
    }
}
