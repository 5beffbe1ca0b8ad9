//! Clients that download the same file again and again.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::net::RecvFlags;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::process;

/// Bytes that are taken at a time.
const PIECE: usize = 1 << 20;

/// What is downloaded.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub path: String,
}

/// What clients do with what they get.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As little as can be, so that the server is measured: without TLS the kernel throws it away.
    Discards,
    /// They read it, as programs do, into a buffer of 1 MiB.
    Reads,
}

/// How.
pub struct Load {
    pub clients: usize,
    pub kind: Kind,
    pub time: Duration,
    pub tls: Option<Arc<ClientConfig>>,
}

/// What it came to.
#[derive(Clone, Copy)]
pub struct Measured {
    /// GB a second.
    pub rate: f64,
    /// CPU seconds of the server for each GB.
    pub cpu: f64,
    /// How long a client that came beside the others waited for its first byte: the median, and the longest.
    pub first_byte: (Duration, Duration),
}

/// Between two clients that come beside the others.
const ARRIVALS: Duration = Duration::from_millis(50);

impl Load {
    /// Downloads for a while.
    pub fn run(&self, target: &Target, pids: &[u32]) -> Result<Measured> {
        // Connections stand, and the server has the file open, before the clock runs.
        let total = Arc::new(AtomicU64::new(0));
        let streams: Vec<_> = (0..self.clients).map(|_| self.open(target)).collect::<Result<_>>()?;
        let before = cpu(pids)?;
        let started = Instant::now();
        let end = started + self.time;
        let kind = self.kind;
        let workers: Vec<_> = streams
            .into_iter()
            .map(|stream| {
                let (target, total) = (target.clone(), Arc::clone(&total));
                let work = move || stream.download(&target, kind, end, &total);
                thread::Builder::new().stack_size(256 << 10).spawn(work)
            })
            .collect::<std::io::Result<_>>()?;
        let mut waited = self.arrive(target, end)?;
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        let seconds = started.elapsed().as_secs_f64();
        let gigabytes = total.load(Ordering::Relaxed) as f64 / 1e9;
        ensure!(gigabytes > 0.0, "nothing was downloaded");
        waited.sort_unstable();
        let longest = *waited.last().context("nobody came beside the others")?;
        Ok(Measured {
            rate: gigabytes / seconds,
            cpu: (cpu(pids)? - before) / gigabytes,
            first_byte: (waited[waited.len() / 2], longest),
        })
    }

    /// Comes beside the others now and then: how long each waits for its first byte.
    fn arrive(&self, target: &Target, end: Instant) -> Result<Vec<Duration>> {
        let mut waited = Vec::new();
        while Instant::now() < end {
            let mut client = self.open(target)?;
            let asked = Instant::now();
            client.ask(target)?;
            client.head()?;
            client.take(&mut [0], Kind::Reads, 1)?;
            waited.push(asked.elapsed());
            drop(client);
            thread::sleep(ARRIVALS);
        }
        Ok(waited)
    }

    /// Opens downloads that stay in their middle until they are dropped.
    pub fn hold(&self, target: &Target) -> Result<Vec<Client>> {
        // One after the other: the server does not wait long for the first request of a connection.
        let begin = |_| {
            let mut client = self.open(target)?;
            client.ask(target)?;
            client.head()?;
            Ok(client)
        };
        let held = (0..self.clients).map(begin).collect::<Result<Vec<_>>>()?;
        // Until the server has sent all that fits on the way.
        thread::sleep(self.time);
        Ok(held)
    }

    fn open(&self, target: &Target) -> Result<Client> {
        let stream = TcpStream::connect(target.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let stream = match &self.tls {
            None => Stream::Plain(stream),
            Some(config) => {
                let connection = ClientConnection::new(Arc::clone(config), "127.0.0.1".try_into()?)?;
                let mut stream = StreamOwned::new(connection, stream);
                stream.flush()?;
                Stream::Secure(Box::new(stream))
            }
        };
        Ok(Client { stream })
    }
}

fn cpu(pids: &[u32]) -> Result<f64> {
    pids.iter().map(|pid| process::cpu(*pid)).sum()
}

enum Stream {
    Plain(TcpStream),
    Secure(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// One of them.
pub struct Client {
    stream: Stream,
}

impl Client {
    fn download(mut self, target: &Target, kind: Kind, end: Instant, total: &AtomicU64) -> Result<()> {
        // Not written to by who discards over plain HTTP, so that it takes no memory.
        let mut buffer = vec![0; PIECE];
        loop {
            self.ask(target)?;
            let mut left = self.head()?;
            while left > 0 {
                let count = self.take(&mut buffer, kind, left)?;
                total.fetch_add(count, Ordering::Relaxed);
                left -= count;
                if Instant::now() >= end {
                    return Ok(());
                }
            }
        }
    }

    fn ask(&mut self, target: &Target) -> Result<()> {
        let request = format!("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target.path);
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(request.as_bytes())?,
            Stream::Secure(stream) => stream.write_all(request.as_bytes())?,
        }
        Ok(())
    }

    /// Reads a head, byte by byte; how long its body is.
    fn head(&mut self) -> Result<u64> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match &mut self.stream {
                Stream::Plain(stream) => stream.read_exact(&mut byte)?,
                Stream::Secure(stream) => stream.read_exact(&mut byte)?,
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        ensure!(head.starts_with("http/1.1 200"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        Ok(length.context("no length")?.trim().parse()?)
    }

    /// Takes bytes.
    fn take(&mut self, buffer: &mut [u8], kind: Kind, most: u64) -> Result<u64> {
        let flags = if kind == Kind::Discards { RecvFlags::TRUNC } else { RecvFlags::empty() };
        let piece = buffer.len().min(usize::try_from(most)?);
        let count = match &mut self.stream {
            Stream::Plain(stream) => loop {
                match rustix::net::recv(&*stream, &mut buffer[..piece], flags) {
                    Ok((_, count)) => break count,
                    Err(error) if std::io::Error::from(error).kind() == ErrorKind::Interrupted => {}
                    Err(error) => bail!(error),
                }
            },
            Stream::Secure(stream) => stream.read(&mut buffer[..piece])?,
        };
        ensure!(count > 0, "a download ended early");
        Ok(count as u64)
    }
}
