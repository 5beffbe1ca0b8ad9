//! Ignition configs on the host: what is taken out of them, and what a single node makes of two.

mod machine_config;
mod single_node;

use std::io::Read;

use assisted_ignition_spec::Excerpt;
use assisted_ignition_spec::excerpt::Contents;
use flate2::read::GzDecoder;

pub use machine_config::{Found, MachineConfigError, find, source};
pub use single_node::{MergeError, merge};

/// A file in a config, unpacked, in bytes.
const LONGEST: u64 = 64 << 20;

/// Why a file can't be taken out of a config.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    #[error("it is not an Ignition config: {0}")]
    Parse(#[from] serde_json::Error),
    #[error("it has no file {0}")]
    Missing(&'static str),
    #[error("its file {0} has contents that aren't in it, or can't be read")]
    Contents(&'static str),
}

/// What a config lays at `path`.
///
/// # Errors
/// When it has no such file, or one whose contents come from elsewhere.
pub fn file(config: &[u8], path: &'static str) -> Result<Vec<u8>, ExtractError> {
    let config = Excerpt::read(config)?;
    let contents = &config.file(path).ok_or(ExtractError::Missing(path))?.contents;
    decoded(contents).ok_or(ExtractError::Contents(path))
}

/// What a file's contents are; `None` where they come from elsewhere, or can't be unpacked.
pub(crate) fn decoded(contents: &Contents) -> Option<Vec<u8>> {
    let data = contents.data()?;
    match contents.compression.as_deref() {
        Some("gzip") => unpacked(&data),
        _ => Some(data),
    }
}

/// What was packed by gzip; `None` where it wasn't, or is too long.
fn unpacked(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = GzDecoder::new(data).take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    (length as u64 <= LONGEST).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_configs_of_any_version() {
        let config = br#"{"ignition":{"version":"3.5.0"},"new":[1],"storage":{"files":[
            {"path":"/a","contents":{"source":"data:,%7B%7D"},"newer":{}},
            {"path":"/z","contents":{"compression":"gzip","source":"data:;base64,H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="}},
            {"path":"/b","contents":{"source":"http://h/b"}},{"path":"/c"}]}}"#;
        assert_eq!(file(config, "/a").unwrap(), b"{}");
        assert_eq!(file(config, "/z").unwrap(), b"hello");
        assert!(matches!(file(config, "/b"), Err(ExtractError::Contents("/b"))));
        assert!(matches!(file(config, "/c"), Err(ExtractError::Contents("/c"))));
        assert!(matches!(file(config, "/d"), Err(ExtractError::Missing("/d"))));
        assert!(matches!(file(b"x", "/d"), Err(ExtractError::Parse(_))));
    }
}
