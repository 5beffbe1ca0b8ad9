//! The queue of batches for the writer, and the outcome of each on its way back.
//!
//! The writer takes all that has queued at once, so that many small batches share one transaction. Large ones go alone: a host may
//! report megabytes, for which no other cluster has to wait. All that is in the queue came at the same time, so its order is free.

use tokio::sync::{mpsc, oneshot};

use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::error::{Error, WriteError};
use crate::statement::Output;

/// Batches that wait; who brings more waits before the queue.
const QUEUE: usize = 1024;

pub(super) type Reply = Result<Vec<Output>, WriteError>;

/// A batch, and the channel for its outcome.
#[derive(Debug)]
pub(super) struct Job {
    batch: Batch,
    reply: oneshot::Sender<Reply>,
}

/// Where batches are handed in. Dropped, it ends the queue once what is in it is written.
#[derive(Debug)]
pub(super) struct Writer(mpsc::Sender<Job>);

impl Writer {
    /// A queue and its end.
    pub(super) fn new() -> (Self, mpsc::Receiver<Job>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        (Self(sender), queue)
    }

    /// Returns when nobody writes any more, which happens by a defect only: no batch is written from then on.
    pub(super) async fn ended(&self) {
        self.0.closed().await;
    }

    pub(super) async fn write(&self, batch: Batch) -> Reply {
        let (reply, answer) = oneshot::channel();
        self.0.send(Job { batch, reply }).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

/// Batches that are written together.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) batches: Vec<Batch>,
    callers: Vec<oneshot::Sender<Reply>>,
}

/// Takes the large ones out of what came from the queue.
pub(super) fn take_large(jobs: &mut Vec<Job>) -> impl Iterator<Item = Job> {
    jobs.extract_if(.., |job| job.batch.is_large())
}

impl Group {
    /// What was taken from the queue; leaves the list empty.
    pub(super) fn of(jobs: &mut Vec<Job>) -> Self {
        let (batches, callers) = jobs.drain(..).map(|job| (job.batch, job.reply)).unzip();
        Self { batches, callers }
    }

    /// Tells who listens what was written, and each caller what became of its batch.
    pub(super) fn answer(self, replies: Vec<Reply>, feed: &ChangeFeed) {
        for ((batch, caller), reply) in self.batches.iter().zip(self.callers).zip(replies) {
            feed.ended(&batch.subjects, reply.is_ok());
            // A caller that went away needs no answer.
            let _ = caller.send(reply);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_dies_is_noticed() {
        let (writer, mut queue) = Writer::new();
        let dies = std::thread::spawn(move || {
            let job = queue.blocking_recv();
            assert!(job.is_none(), "somebody wrote: this thread dies");
        });
        let answer = writer.write(Batch::default()).await;
        assert!(matches!(answer, Err(WriteError::Failed(Error::Closed))), "{answer:?}");
        writer.ended().await;
        dies.join().unwrap_err();
    }
}
