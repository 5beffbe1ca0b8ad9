//! Programs that are there once something listens at their address.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::Error;

/// How long a program may take until it listens.
const START: Duration = Duration::from_secs(60);

/// Waits until a program listens; `log` is what it writes.
pub fn await_listener(child: &mut Child, address: SocketAddr, log: &Path) -> Result<(), Error> {
    let deadline = Instant::now() + START;
    while TcpStream::connect(address).is_err() {
        if Instant::now() >= deadline || child.try_wait()?.is_some() {
            return Err(Error::Silent { log: std::fs::read_to_string(log).unwrap_or_default() });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
