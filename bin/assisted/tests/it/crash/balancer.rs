//! What stands before replicas: each connection goes to the next one that takes it.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Listens as long as the process.
pub struct Balancer {
    pub url: String,
    taken: Arc<[AtomicUsize]>,
}

impl Balancer {
    /// Before these ports.
    pub fn start(ports: Vec<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let taken: Arc<[AtomicUsize]> = ports.iter().map(|_| AtomicUsize::new(0)).collect();
        let counts = Arc::clone(&taken);
        std::thread::spawn(move || {
            for (next, client) in listener.incoming().map_while(Result::ok).enumerate() {
                let tries = (0..ports.len()).map(|number| (next + number) % ports.len());
                let mut taking = tries.filter_map(|number| {
                    Some((number, TcpStream::connect(("127.0.0.1", ports[number])).ok()?))
                });
                // Where all are away the client is left alone.
                let Some((number, replica)) = taking.next() else { continue };
                counts[number].fetch_add(1, Ordering::Relaxed);
                pass(&client, &replica);
                pass(&replica, &client);
            }
        });
        Self { url, taken }
    }

    /// How many connections each has taken.
    pub fn taken(&self) -> Vec<usize> {
        self.taken.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Passes on what one says to the other, and that it has ended.
fn pass(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
