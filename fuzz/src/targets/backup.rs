//! Archives of backups: gzip, tar, names that are longer than their heads, rows, files, the manifest. The first byte says whether what follows
//! is packed already.

use std::io::Write;

use assisted_backup::fuzz::archive;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::input;

pub fn run(bytes: &[u8]) {
    let (choice, rest) = input::choice(bytes);
    let (taken, good) = if choice & 1 == 1 { archive(&packed(rest)) } else { archive(rest) };
    // Of what is not packed no more is handed on than there is.
    assert!(choice & 1 == 0 || taken <= rest.len() as u64, "{taken} bytes out of {}", rest.len());
    assert!(!good || !rest.is_empty(), "nothing is no archive");
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing into memory does not fail.
    let _ = packer.write_all(content);
    packer.finish().unwrap_or_default()
}
