//! Ports for programs that are started later, or again at the same place.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};

use rustix::fs::{FlockOperation, flock};

/// Below those that the kernel gives to whoever asks for any, and below those of Kubernetes' services.
const PORTS: std::ops::Range<u16> = 21_000..29_000;

/// A port of the loopback that nobody listens at, and that no other test gets while this one has it.
#[derive(Debug)]
pub struct Port {
    pub number: u16,
    _lock: File,
}

impl Port {
    /// A port, if there is one.
    ///
    /// # Errors
    /// When all are taken, or when the folder for temporary files can't be written.
    pub fn free() -> std::io::Result<Self> {
        let dir = std::env::temp_dir().join("assisted-ports");
        std::fs::create_dir_all(&dir)?;
        // Tests that begin at once look in different places first.
        let first = std::process::id() as usize * 37 % PORTS.len();
        for number in PORTS.skip(first).chain(PORTS.take(first)) {
            let lock = File::create(dir.join(number.to_string()))?;
            let ours = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            if ours && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self { number, _lock: lock });
            }
        }
        Err(std::io::Error::other(format!("no port between {} and {} is free", PORTS.start, PORTS.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_a_port_that_is_taken_or_listened_at() {
        let one = Port::free().unwrap();
        let other = Port::free().unwrap();
        assert_ne!(one.number, other.number);
        let number = one.number;
        drop(one);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        assert_ne!(Port::free().unwrap().number, number);
        drop(listener);
    }
}
