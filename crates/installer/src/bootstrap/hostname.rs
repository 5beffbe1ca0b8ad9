//! The host name of the bootstrap host: one that a node can have is set where it has none.

use tracing::info;
use uuid::Uuid;

use crate::host::{FileError, Host, RunError};

/// Why the host has no usable name.
#[derive(Debug, thiserror::Error)]
pub enum HostnameError {
    #[error("can't tell the host's name: {0}")]
    Read(#[from] FileError),
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Gives the host a random name where its own can't be a node's.
pub(super) async fn mend(host: &Host) -> Result<(), HostnameError> {
    let name = host.read("/proc/sys/kernel/hostname")?;
    let name = String::from_utf8_lossy(&name).trim().to_owned();
    if is_usable(&name) {
        return Ok(());
    }
    let random = format!("random-hostname-{}", Uuid::new_v4());
    info!(name, random, "no name for a node");
    host.run("hostnamectl", &["set-hostname", &random]).await?;
    Ok(())
}

fn is_usable(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = name.as_bytes();
    name != "localhost"
        && (2..=63).contains(&bytes.len())
        && bytes.iter().all(|c| plain(*c) || matches!(c, b'-' | b'.'))
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|c| plain(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nodes() {
        for (name, usable) in [
            ("master-0.example.com", true),
            ("a1", true),
            ("localhost", false),
            ("Master", false),
            ("a", false),
            ("-a", false),
            ("a.", false),
            ("a_b", false),
            ("", false),
        ] {
            assert_eq!(is_usable(name), usable, "{name}");
        }
        assert!(is_usable(&"a".repeat(63)) && !is_usable(&"a".repeat(64)));
    }
}
