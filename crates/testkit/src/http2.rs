//! HTTP/2, frame by frame: what clients do that no library lets them do.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// A server that does not do it would let the test run into this.
const LIMIT: Duration = Duration::from_secs(60);

/// Kinds of frames.
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;

/// Flags of frames.
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Why a stream is reset.
pub const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

/// What a server sends.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Connection<S>(S);

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Begins to speak.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn open(mut stream: S) -> io::Result<Self> {
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
        let mut connection = Self(stream);
        connection.send(SETTINGS, 0, 0, &[]).await?;
        Ok(connection)
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?.to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await?;
        self.0.flush().await
    }

    /// Asks for something at a path of less than 127 letters; of what has a body, none of it is sent.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn ask(&mut self, stream: u32, path: &str, has_body: bool) -> io::Result<()> {
        let length = u8::try_from(path.len()).map_err(io::Error::other)?;
        // Of HPACK's static table: the method (GET or POST), http, and the names of the others.
        let mut head = vec![if has_body { 0x83 } else { 0x82 }, 0x86, 0x04, length];
        head.extend(path.as_bytes());
        head.extend(b"\x01\x01x");
        if has_body {
            head.extend(b"\x0f\x10\x10application/json");
        }
        let flags = if has_body { END_HEADERS } else { END_HEADERS | END_STREAM };
        self.send(HEADERS, flags, stream, &head).await
    }

    /// Gives up what was asked.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn cancel(&mut self, stream: u32) -> io::Result<()> {
        self.send(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()).await
    }

    async fn next(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let length = usize::try_from(u32::from_be_bytes([0, a, b, c])).map_err(io::Error::other)?;
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload).await?;
        Ok(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload })
    }

    /// The next frame of a kind.
    ///
    /// # Errors
    /// The connection has ended, or no such frame comes.
    pub async fn next_of(&mut self, kind: u8) -> io::Result<Frame> {
        let found = async {
            loop {
                let frame = self.next().await?;
                if frame.kind == kind {
                    return Ok::<_, io::Error>(frame);
                }
            }
        };
        timeout(LIMIT, found).await?
    }

    /// Whether a ping is answered, and the connection has not ended.
    pub async fn is_there(&mut self) -> bool {
        if self.send(PING, 0, 0, b"anybody?").await.is_err() {
            return false;
        }
        while let Ok(frame) = self.next().await {
            if (frame.kind, frame.flags) == (PING, ACK) {
                return true;
            }
        }
        false
    }
}
