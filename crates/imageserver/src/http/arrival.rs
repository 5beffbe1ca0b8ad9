//! Files that are still on their way: whoever sends a part of one waits until it is there.

use std::fs::File;
use std::io;
use std::sync::Arc;

use tokio::sync::watch;

/// What is there of a file: so many bytes from its beginning; none when no more will come.
type ArrivedBytes = Option<u64>;

/// A file that is being downloaded, and how many of its bytes are there.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    file: Arc<File>,
    arrived: watch::Receiver<ArrivedBytes>,
}

/// A file that arrives: its writer publishes how far it is.
pub(crate) fn arrival(file: Arc<File>) -> (watch::Sender<ArrivedBytes>, Arrival) {
    let (written, arrived) = watch::channel(Some(0));
    (written, Arrival { file, arrived })
}

impl Arrival {
    /// Waits until there is more of `file` than its first `from` bytes: up to where, at most to `end`; at once when it is
    /// another file.
    ///
    /// # Errors
    ///
    /// When no more will come.
    pub async fn reach(&mut self, file: &Arc<File>, from: u64, end: u64) -> io::Result<u64> {
        if !Arc::ptr_eq(file, &self.file) {
            return Ok(end);
        }
        let more = self.arrived.wait_for(|arrived| arrived.is_none_or(|arrived| arrived > from)).await;
        match more.map(|arrived| *arrived) {
            Ok(Some(arrived)) => Ok(arrived.min(end)),
            _ => Err(io::Error::other("the base image did not arrive")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_is_waited_for_until_it_is_there_or_never_will_be() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let (written, mut arrival) = arrival(Arc::clone(&file));
        let other = Arc::new(tempfile::tempfile().unwrap());
        assert_eq!(arrival.reach(&other, 0, 10).await.unwrap(), 10);
        let (mut waiting, same) = (arrival.clone(), Arc::clone(&file));
        let waiter = tokio::spawn(async move { waiting.reach(&same, 5, 10).await });
        written.send_replace(Some(5));
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        written.send_replace(Some(7));
        assert_eq!(waiter.await.unwrap().unwrap(), 7);
        written.send_replace(Some(70));
        assert_eq!(arrival.reach(&file, 7, 10).await.unwrap(), 10);
        let (mut waiting, same) = (arrival.clone(), Arc::clone(&file));
        let waiter = tokio::spawn(async move { waiting.reach(&same, 70, 80).await });
        written.send_replace(None);
        assert!(waiter.await.unwrap().is_err());
        // The last value stays known when the writer is gone.
        written.send_replace(Some(80));
        drop(written);
        assert_eq!(arrival.reach(&file, 70, 80).await.unwrap(), 80);
        assert!(arrival.reach(&file, 80, 90).await.is_err());
    }
}
