//! Digests of what is shipped.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use assisted_base::hex;
use sha2::{Digest, Sha256};

/// SHA-256 of some bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes))
}

/// The same of a file.
///
/// # Errors
/// It can't be read.
pub fn of_file(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("can't read {}", path.display()))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(&hash.finalize())),
            length => hash.update(&buffer[..length]),
        }
    }
}
