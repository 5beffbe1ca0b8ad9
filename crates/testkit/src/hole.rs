//! What may stand between a server and its clients: it passes on what they say, or keeps it, without a word to either.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Stands before a port on loopback, as long as the runtime that started it.
#[derive(Debug)]
pub struct Hole {
    port: u16,
    open: watch::Sender<bool>,
    connections: Arc<AtomicUsize>,
}

impl Hole {
    /// One that passes everything on.
    pub async fn before(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.port();
        let (open, is_open) = watch::channel(false);
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let mut is_open = is_open.clone();
                tokio::spawn(async move {
                    // An error is the end of whoever opens it.
                    let _ = is_open.wait_for(|open| !*open).await;
                    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    tokio::join!(
                        pass(from_client, to_server, is_open.clone()),
                        pass(from_server, to_client, is_open)
                    );
                });
            }
        });
        Ok(Self { port: own, open, connections })
    }

    /// Where clients come.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many connections clients have begun.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Whether everything falls into it from now on.
    pub fn open(&self, open: bool) {
        self.open.send_replace(open);
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut is_open: watch::Receiver<bool>,
) {
    let mut piece = vec![0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let closed = is_open.wait_for(|open| !*open).await.is_ok();
        if !closed || to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
    // The other side learns of the end.
    let _ = to.shutdown().await;
}
