//! Bytes on their way to a client: from memory, or from a file.
//!
//! Without TLS a file goes from the page cache to the socket inside the kernel. With TLS it is read in large pieces into a
//! buffer that belongs to the thread, not to the client: a client that is slow holds what rustls has sealed for it, a
//! record, and nothing else. Pages that are not in memory are fetched on a thread that may wait; the others go on meanwhile.

use std::cell::RefCell;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use assisted_base::rate::{MinimumRate, RateMeter};
use bytes::BytesMut;
use rustix::fs::{Advice, fadvise, sendfile};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::net::SendFlags;
use rustix::net::sockopt::set_tcp_cork;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

/// Bytes of a file between two looks at whether its pages are in memory, and between two chances for other clients; nginx has 2 MiB.
const STRETCH: u64 = 1 << 20;

/// Bytes that are sealed at a time.
const PIECE: usize = 256 << 10;

/// Bytes that are sealed ahead of the socket: of a thousand slow clients each holds so many.
const RECORD: usize = 16 << 10;

/// How far pages are fetched ahead of a client that reads what is not in memory.
const AHEAD: u64 = 4 << 20;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

/// A connection as bytes.
pub(crate) struct Transport {
    stream: Stream,
    /// How long a client may take without taking a single byte.
    stall: Duration,
    /// What it has taken lately.
    rate: RateMeter,
    /// Bytes that were sent.
    pub sent: u64,
    /// Whether the kernel keeps what fills no packet until more comes.
    corked: bool,
}

impl Transport {
    pub fn new(mut stream: Stream, stall: Duration, minimum: MinimumRate) -> Self {
        if let Stream::Secure(stream) = &mut stream {
            stream.get_mut().1.set_buffer_limit(Some(RECORD));
        }
        Self { stream, stall, rate: RateMeter::new(minimum), sent: 0, corked: false }
    }

    /// Begins to measure anew how fast the client is.
    pub fn restart_rate(&mut self) {
        self.rate.restart();
    }

    pub fn is_secure(&self) -> bool {
        matches!(self.stream, Stream::Secure(_))
    }

    /// Appends what the client sends next; 0 at the end.
    pub async fn read(&mut self, into: &mut BytesMut) -> io::Result<usize> {
        match &mut self.stream {
            Stream::Plain(stream) => stream.read_buf(into).await,
            Stream::Secure(stream) => stream.read_buf(into).await,
        }
    }

    /// Sends bytes; `more` will follow at once, so a packet need not leave half full.
    pub async fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<()> {
        let flags = if more { SendFlags::MORE } else { SendFlags::empty() };
        let mut rest = bytes;
        while !rest.is_empty() {
            let sent = match &mut self.stream {
                Stream::Plain(stream) => {
                    let send = || Ok(rustix::net::send(&*stream, rest, flags)?);
                    when_writable(stream, self.stall, send).await?
                }
                Stream::Secure(stream) => within(self.stall, stream.write(rest)).await?,
            };
            rest = rest.get(sent..).unwrap_or_default();
            self.sent += sent as u64;
            self.rate.note(sent)?;
        }
        Ok(())
    }

    /// Sends zeros.
    pub async fn send_zeros(&mut self, count: u64, more: bool) -> io::Result<()> {
        let mut rest = count;
        while rest > 0 {
            let piece = rest.min(ZEROS.len() as u64);
            rest -= piece;
            self.send(&ZEROS[..piece as usize], more || rest > 0).await?;
        }
        Ok(())
    }

    /// Sends a part of a file.
    pub async fn send_file(&mut self, file: &Arc<File>, from: u64, count: u64) -> io::Result<()> {
        let (mut at, end) = (from, from.saturating_add(count));
        self.cork(count > STRETCH)?;
        while at < end {
            let stretch = at..end.min(at.saturating_add(STRETCH));
            match &mut self.stream {
                Stream::Plain(stream) => {
                    if !is_in_memory(file, stretch.end - 1)? {
                        fetch(file, at, stretch.end).await?;
                    }
                    while at < stretch.end {
                        let left = (stretch.end - at) as usize;
                        let before = at;
                        let send = || Ok(sendfile(&*stream, &**file, Some(&mut at), left)?);
                        let sent = when_writable(stream, self.stall, send).await?;
                        at = before + sent as u64;
                        self.sent += sent as u64;
                        if sent == 0 {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                        self.rate.note(sent)?;
                    }
                }
                Stream::Secure(stream) => {
                    let mut may_wait = false;
                    while at < stretch.end {
                        let left = (stretch.end - at) as usize;
                        match within(self.stall, seal(stream, file, at, left, may_wait)).await? {
                            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                            Some(sent) => {
                                at += sent as u64;
                                self.sent += sent as u64;
                                self.rate.note(sent)?;
                            }
                            None => {
                                fetch(file, at, stretch.end).await?;
                                may_wait = true;
                            }
                        }
                    }
                }
            }
            if at < end {
                // A client as fast as the memory would keep its thread for itself.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Sends what is still held back.
    pub async fn flush(&mut self) -> io::Result<()> {
        match &mut self.stream {
            // What is sent is in the hands of the kernel.
            Stream::Plain(_) => self.cork(false),
            Stream::Secure(stream) => within(self.stall, stream.flush()).await,
        }
    }

    /// Has the kernel keep what fills no packet, or send it. Without that each stretch of a file ends with a small packet, for which a client
    /// that reads is woken: that makes a quarter of its time.
    fn cork(&mut self, corked: bool) -> io::Result<()> {
        if let Stream::Plain(stream) = &self.stream
            && self.corked != corked
        {
            set_tcp_cork(stream, corked)?;
            self.corked = corked;
        }
        Ok(())
    }

    /// Says that nothing follows, and waits a while for the client's end: closing a connection on which something is unread
    /// would take away what the client has not read yet.
    pub async fn end(mut self, linger: Duration) {
        let farewell = async {
            match &mut self.stream {
                Stream::Plain(stream) => stream.shutdown().await?,
                Stream::Secure(stream) => stream.shutdown().await?,
            }
            let mut rest = BytesMut::with_capacity(4096);
            while self.read(&mut rest).await? > 0 {
                rest.clear();
            }
            io::Result::Ok(())
        };
        if let Ok(Err(error)) = timeout(linger, farewell).await {
            tracing::trace!(%error, "a connection ended before its time");
        }
    }
}

/// Does something to a socket as soon as it takes bytes.
async fn when_writable(
    stream: &TcpStream,
    stall: Duration,
    mut send: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match stream.try_io(Interest::WRITABLE, &mut send) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                within(stall, stream.writable()).await?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

async fn within<T>(stall: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(stall, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Seals and sends a piece of a file: how much of it; none when its pages have to be fetched first.
async fn seal(
    stream: &mut TlsStream<TcpStream>,
    file: &File,
    at: u64,
    most: usize,
    may_wait: bool,
) -> io::Result<Option<usize>> {
    poll_fn(|context| {
        BUFFER.with_borrow_mut(|buffer| {
            let piece = &mut buffer[..most.min(PIECE)];
            let read = match read_now(file, piece, at) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && may_wait => {
                    file.read_at(piece, at)
                }
                read => read,
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Ready(Ok(None)),
                Err(error) => Poll::Ready(Err(error)),
                Ok(0) => Poll::Ready(Ok(Some(0))),
                // What the socket does not take is read again for the next try: the thread's buffer serves all clients.
                Ok(count) => Pin::new(&mut *stream).poll_write(context, &piece[..count]).map_ok(Some),
            }
        })
    })
    .await
}

/// Reads without waiting for a disk, where the file system knows.
fn read_now(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    match preadv2(file, &mut [IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT) {
        Err(Errno::OPNOTSUPP) => file.read_at(into, at),
        read => Ok(read?),
    }
}

/// Whether a byte's page is in memory; taken as given where the file system doesn't know.
fn is_in_memory(file: &File, at: u64) -> io::Result<bool> {
    match preadv2(file, &mut [IoSliceMut::new(&mut [0])], at, ReadWriteFlags::NOWAIT) {
        Ok(_) | Err(Errno::OPNOTSUPP) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Brings a part of a file into memory, on a thread that may wait, and lets the disk go on with what comes after.
async fn fetch(file: &Arc<File>, from: u64, end: u64) -> io::Result<()> {
    let file = Arc::clone(file);
    let read = move || {
        if let Err(error) = fadvise(&*file, from, NonZeroU64::new(AHEAD), Advice::WillNeed) {
            tracing::trace!(%error, "the file system takes no advice");
        }
        // The disk reads in order: when the last page is there, the others are.
        file.read_at(&mut [0], end - 1).map(drop)
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}
