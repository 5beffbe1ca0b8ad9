//! Writes this machine's facts to standard output, as a fixture is written: `cargo run --example capture > tree.txt`.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let tree = assisted_hostinfo::capture::capture(&assisted_hostinfo::Root::live());
    io::stdout().lock().write_all(tree.to_string().as_bytes())
}
