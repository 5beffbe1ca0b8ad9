//! What may stand between a server and its clients: it passes on what they say, keeps it without a word to either, or breaks
//! connections, at moments of the test's choice.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{Either, select};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Stands before a server on this machine, as long as the runtime that started it.
pub struct Hole {
    port: u16,
    shared: Arc<Shared>,
}

/// What is done with a piece of what a client says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleFault {
    None,
    /// It comes later.
    Delay(Duration),
    /// The connection breaks, and the server never gets it.
    BreakBefore,
    /// The connection breaks within it: of a hundred parts the server gets so many, which are fewer than all.
    BreakWithin(u8),
    /// The server gets it, and the connection breaks before the client has the answer.
    BreakAfter,
}

/// What happens to all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Passing,
    /// Nothing is passed on, and nobody is told.
    Silent,
    /// There are no connections.
    Away,
}

/// Where the server listens.
#[derive(Clone)]
enum Server {
    Port(u16),
    Socket(PathBuf),
}

type Faults = Box<dyn FnMut() -> HoleFault + Send>;

struct Shared {
    mood: watch::Sender<Mood>,
    faults: Mutex<Faults>,
    connections: AtomicUsize,
}

/// How one direction of a connection ended.
enum End {
    /// Whoever spoke has said all.
    Closed,
    Broken,
}

impl Hole {
    /// One that passes everything on to a port on loopback.
    pub async fn before(port: u16) -> std::io::Result<Self> {
        Self::start(Server::Port(port)).await
    }

    /// One that passes everything on to a socket in the file system.
    pub async fn before_socket(path: PathBuf) -> std::io::Result<Self> {
        Self::start(Server::Socket(path)).await
    }

    async fn start(server: Server) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            mood: watch::channel(Mood::Passing).0,
            faults: Mutex::new(Box::new(|| HoleFault::None)),
            connections: AtomicUsize::new(0),
        });
        let for_all = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                for_all.connections.fetch_add(1, Ordering::Relaxed);
                let (shared, server) = (Arc::clone(&for_all), server.clone());
                tokio::spawn(async move { serve(client, server, &shared).await });
            }
        });
        Ok(Self { port, shared })
    }

    /// Where clients come.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many connections clients have begun.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Whether everything falls into it from now on.
    pub fn open(&self, open: bool) {
        self.shared.mood.send_replace(if open { Mood::Silent } else { Mood::Passing });
    }

    /// Breaks all connections and refuses others, until it is [opened or closed](Self::open).
    pub fn break_all(&self) {
        self.shared.mood.send_replace(Mood::Away);
    }

    /// Decides from now on what is done with each piece of what clients say.
    pub fn on_each(&self, decide: impl FnMut() -> HoleFault + Send + 'static) {
        *self.shared.faults.lock().unwrap() = Box::new(decide);
    }
}

impl fmt::Debug for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hole").field("port", &self.port).field("mood", &*self.shared.mood.borrow()).finish()
    }
}

async fn serve(client: TcpStream, server: Server, shared: &Shared) {
    let mut mood = shared.mood.subscribe();
    if mood.wait_for(|mood| *mood != Mood::Silent).await.is_ok_and(|mood| *mood == Mood::Away) {
        return;
    }
    match server {
        Server::Port(port) => {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            connect(client.into_split(), server.into_split(), shared).await;
        }
        Server::Socket(path) => {
            let Ok(server) = UnixStream::connect(path).await else { return };
            connect(client.into_split(), server.into_split(), shared).await;
        }
    }
}

/// Passes on what both say until both have said all, or the connection breaks.
async fn connect(
    (from_client, to_client): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    (from_server, to_server): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    shared: &Shared,
) {
    let breaks_at_answer = AtomicBool::new(false);
    let asked = pass(from_client, to_server, shared, async |length: usize| {
        let fault = shared.faults.lock().unwrap()();
        match fault {
            HoleFault::None => length,
            HoleFault::Delay(time) => {
                tokio::time::sleep(time).await;
                length
            }
            HoleFault::BreakBefore => 0,
            HoleFault::BreakWithin(percent) => length * usize::from(percent.min(99)) / 100,
            HoleFault::BreakAfter => {
                breaks_at_answer.store(true, Ordering::SeqCst);
                length
            }
        }
    });
    let answered = pass(from_server, to_client, shared, async |length: usize| {
        if breaks_at_answer.load(Ordering::SeqCst) { 0 } else { length }
    });
    let both = async {
        match select(Box::pin(asked), Box::pin(answered)).await {
            Either::Left((End::Closed, other)) => other.await,
            Either::Right((End::Closed, other)) => other.await,
            Either::Left((broken, _)) | Either::Right((broken, _)) => broken,
        }
    };
    let mut mood = shared.mood.subscribe();
    let away = mood.wait_for(|mood| *mood == Mood::Away);
    let _ = select(Box::pin(both), Box::pin(away)).await;
}

/// Passes on of each piece as many bytes as `passes` says, until those are fewer than there are.
async fn pass<F: Future<Output = usize>>(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    mut passes: impl FnMut(usize) -> F,
) -> End {
    let mut mood = shared.mood.subscribe();
    let mut piece = vec![0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        // The one that is away ends the connection elsewhere.
        if mood.wait_for(|mood| *mood == Mood::Passing).await.is_err() {
            return End::Broken;
        }
        let passed = passes(length).await;
        if to.write_all(&piece[..passed]).await.is_err() || passed < length {
            return End::Broken;
        }
    }
    // The other side learns of the end.
    let _ = to.shutdown().await;
    End::Closed
}
