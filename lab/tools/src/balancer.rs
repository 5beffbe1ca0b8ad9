//! What stands before replicas: each connection goes to the next one that takes it.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Listens as long as the process, in the network of the thread that has started it.
#[derive(Debug)]
pub struct Balancer {
    /// Where it listens.
    pub address: SocketAddr,
    taken: Arc<[AtomicUsize]>,
}

impl Balancer {
    /// Listens before these replicas.
    ///
    /// # Errors
    /// When the address is taken.
    pub fn start(address: impl Into<SocketAddr>, replicas: Vec<SocketAddr>) -> io::Result<Self> {
        let listener = TcpListener::bind(address.into())?;
        let address = listener.local_addr()?;
        let taken: Arc<[AtomicUsize]> = replicas.iter().map(|_| AtomicUsize::new(0)).collect();
        let counts = Arc::clone(&taken);
        std::thread::spawn(move || {
            for (next, client) in listener.incoming().map_while(Result::ok).enumerate() {
                let tries = replicas.iter().zip(&*counts).cycle().skip(next % replicas.len().max(1));
                let mut taking = tries
                    .take(replicas.len())
                    .filter_map(|(replica, count)| Some((TcpStream::connect(replica).ok()?, count)));
                // Where all are away the client is left alone.
                let Some((replica, count)) = taking.next() else { continue };
                count.fetch_add(1, Ordering::Relaxed);
                // A client that is gone already needs nothing.
                let _ = pass(&client, &replica).and_then(|()| pass(&replica, &client));
            }
        });
        Ok(Self { address, taken })
    }

    /// How many connections each has taken.
    pub fn taken(&self) -> Vec<usize> {
        self.taken.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Passes on what one says to the other, and that it has ended.
fn pass(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
    Ok(())
}
