//! A port of this computer that leads to one inside the network, for whoever is outside: management controllers.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Network, NetworkError, within};

/// Connections at a time: a controller needs one or two.
const MOST: usize = 256;

impl Network {
    /// Leads from a port outside to one inside, for as long as this process lives.
    pub fn forward_port(&self, outside: SocketAddr, inside: SocketAddr) -> Result<(), NetworkError> {
        let failed = |error: io::Error| NetworkError::Failed {
            command: format!("listening on {outside}"),
            said: error.to_string(),
        };
        let listener = TcpListener::bind(outside).map_err(failed)?;
        let namespace = self.namespace();
        let open = Arc::new(AtomicUsize::new(0));
        thread::Builder::new()
            .name("port-forward".to_owned())
            .spawn(move || {
                for client in listener.incoming().flatten() {
                    if open.fetch_add(1, Ordering::Relaxed) >= MOST {
                        open.fetch_sub(1, Ordering::Relaxed);
                        continue;
                    }
                    let (namespace, open) = (namespace.clone(), Arc::clone(&open));
                    let lead = move || {
                        if let Ok(Ok(server)) = within(&namespace, || TcpStream::connect(inside)) {
                            join(client, server);
                        }
                        open.fetch_sub(1, Ordering::Relaxed);
                    };
                    // Too many threads: the client tries again.
                    let _ = thread::Builder::new().name("forwarded".to_owned()).spawn(lead);
                }
            })
            .map_err(failed)?;
        Ok(())
    }
}

/// Copies both ways until both have ended.
fn join(client: TcpStream, server: TcpStream) {
    let (Ok(from_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else { return };
    let there = thread::spawn(move || copy(from_client, to_server));
    copy(server, client);
    let _ = there.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
