//! What asks a service to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
#[cfg(feature = "kubernetes")]
use tokio_util::sync::CancellationToken;

/// SIGTERM and SIGINT. From its making on they end the process no more: it is made before anybody is told that the service
/// is there.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next of them.
    pub async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Cancels `stop` with the first of them.
    #[cfg(feature = "kubernetes")]
    pub fn cancel(mut self, stop: CancellationToken) {
        tokio::spawn(async move {
            self.recv().await;
            stop.cancel();
        });
    }
}

/// Ends when the service is told to stop.
pub(crate) fn stopping(stopped: &watch::Receiver<bool>) -> impl Future<Output = ()> + Send + use<> {
    let mut stopped = stopped.clone();
    async move {
        // An error is the end of whoever would tell.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }
}
