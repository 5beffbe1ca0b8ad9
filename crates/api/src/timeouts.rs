//! How long clients may take.

use std::time::Duration;

/// Time limits; who passes one is cut off, so that slow clients can't take up all connections.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the handshake of TLS.
    pub handshake: Duration,
    /// For the head of a request.
    pub head: Duration,
    /// For the next request on a connection of HTTP/2 on which all are answered. It is longer than clients keep one that they don't use, and
    /// than a client takes for what is left of an answer in buffers.
    pub idle: Duration,
    /// For the whole body of a request.
    pub body: Duration,
    /// For the next piece of a file.
    pub piece: Duration,
    /// For the next piece of an answer to be taken.
    pub write: Duration,
    /// Bytes of a file that have to come in a second, on average.
    pub rate: u64,
    /// For the rest of a body that is refused: thrown away for so long, so that the client gets to read the answer.
    pub rest: Duration,
    /// For requests under way once the service is told to stop.
    pub stop: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(15),
            idle: Duration::from_secs(300),
            body: Duration::from_secs(60),
            piece: Duration::from_secs(60),
            write: Duration::from_secs(60),
            rate: 256,
            rest: Duration::from_secs(10),
            stop: Duration::from_secs(20),
        }
    }
}
