//! Keys: relative paths that can't leave the directory.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longest key in bytes, as on S3.
const MAX_KEY: usize = 1024;

/// Longest part in bytes, as on every file system.
const MAX_PART: usize = 255;

/// Parts of a key at most: bounds the depth of folders.
const MAX_PARTS: usize = 32;

/// Folder of files that are being written; no key reaches into it.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// Names a file, or with all that stands below it a folder: parts separated by `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

/// Why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a key has 1 to {MAX_KEY} bytes")]
    Length,
    #[error("a key has at most {MAX_PARTS} parts")]
    Depth,
    #[error("a part of a key has 1 to {MAX_PART} bytes")]
    Part,
    #[error("a part of a key is not . or ..")]
    Traversal,
    #[error("a key has no control characters and no backslash")]
    Character,
    #[error("a key does not begin with {UNFINISHED}")]
    Reserved,
}

impl Key {
    /// Makes a key of a text.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        if text.is_empty() || text.len() > MAX_KEY {
            return Err(KeyError::Length);
        }
        if text.chars().any(|character| character.is_control() || character == '\\') {
            return Err(KeyError::Character);
        }
        for (place, part) in text.split('/').enumerate() {
            if place >= MAX_PARTS {
                return Err(KeyError::Depth);
            }
            if part.is_empty() || part.len() > MAX_PART {
                return Err(KeyError::Part);
            }
            if part == "." || part == ".." {
                return Err(KeyError::Traversal);
            }
            if place == 0 && part == UNFINISHED {
                return Err(KeyError::Reserved);
            }
        }
        Ok(Self(text))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part: the file's name.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    pub(crate) fn path(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_inside() {
        for text in ["a", "a/b.ign", "11/logs/..x/...", "ü/🦀", "-rf", "a b", ".hidden/x", "a/.unfinished"]
        {
            let key = Key::new(text).unwrap();
            assert!(key.path(Path::new("/root/blob")).starts_with("/root/blob"), "{text}");
        }
        let long = "a/".repeat(MAX_KEY);
        let wide = "a".repeat(MAX_PART + 1);
        let deep = vec!["a"; MAX_PARTS + 1].join("/");
        for (text, error) in [
            ("", KeyError::Length),
            (long.as_str(), KeyError::Length),
            (wide.as_str(), KeyError::Part),
            (deep.as_str(), KeyError::Depth),
            ("/etc/passwd", KeyError::Part),
            ("a//b", KeyError::Part),
            ("a/", KeyError::Part),
            ("..", KeyError::Traversal),
            ("a/../b", KeyError::Traversal),
            ("./a", KeyError::Traversal),
            ("a\0b", KeyError::Character),
            ("a\nb", KeyError::Character),
            ("a\\..\\b", KeyError::Character),
            (".unfinished/x", KeyError::Reserved),
        ] {
            assert_eq!(Key::new(text), Err(error), "{text:?}");
        }
        assert_eq!(Key::new("a/b/c.ign").unwrap().name(), "c.ign");
    }
}
