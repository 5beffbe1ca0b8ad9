//! Whole inventories: of captured machines, of this one, and of trees made to do harm.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

mod dns;
mod facts;
mod hostile;
mod live;
mod machines;

use std::path::Path;

use assisted_hostinfo::Root;
use assisted_hostinfo::capture::Tree;
use tempfile::TempDir;

/// A tree's text, unpacked; the directory lives as long as the value.
struct Machine {
    root: Root,
    dir: TempDir,
}

fn machine(text: &str) -> Machine {
    let dir = tempfile::tempdir().unwrap();
    text.parse::<Tree>().unwrap().unpack(dir.path()).unwrap();
    Machine { root: Root::captured(dir.path()).unwrap(), dir }
}

fn fixture(name: &str) -> Machine {
    machine(&std::fs::read_to_string(fixtures().join(name).join("tree.txt")).unwrap())
}

fn fixtures() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"))
}
