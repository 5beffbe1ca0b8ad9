//! Writes this machine's inventory, as the service gets it, to standard output.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let inventory = assisted_hostinfo::inventory(&assisted_hostinfo::Root::live());
    serde_json::to_writer(io::stdout().lock(), &inventory)?;
    io::stdout().lock().write_all(b"\n")
}
