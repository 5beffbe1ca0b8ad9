//! Names of images: `registry/repository[:tag][@sha256:…]`.
//!
//! Only whole names are taken: what a short name stands for depends on the machine that reads it.

use std::fmt;
use std::str::FromStr;

use assisted_base::hex;
use sha2::{Digest as _, Sha256};

/// Longest name that is read, in bytes.
const LONGEST: usize = 512;
const LONGEST_TAG: usize = 128;

/// Why a text names no image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    #[error(
        "{0:?} names no registry: write the whole name, such as quay.io/openshift-release-dev/ocp-release"
    )]
    NoRegistry(String),
    #[error("{0:?} is no registry: write a host name or address, and a port if it needs one")]
    Registry(String),
    #[error("{0:?} is no repository: it has lower-case letters, digits, and single . _ - between them")]
    Repository(String),
    #[error("{0:?} is no tag")]
    Tag(String),
    #[error("{0:?} is no digest: only sha256: and 64 hexadecimal digits are read")]
    Digest(String),
    #[error("the name of an image is longer than {LONGEST} bytes")]
    TooLong,
}

/// A SHA-256 digest, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of what a hash was fed.
    pub fn finish(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }

    /// The hexadecimal digits alone.
    pub fn hex(&self) -> String {
        hex::encode(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let wrong = || ReferenceError::Digest(text.to_owned());
        let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64).ok_or_else(wrong)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let digit = |c: u8| match c {
                b'0'..=b'9' => Some(c - b'0'),
                b'a'..=b'f' => Some(c - b'a' + 10),
                _ => None,
            };
            let (high, low) = digit(pair[0]).zip(digit(pair[1])).ok_or_else(wrong)?;
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

/// A repository in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Repository {
    /// Host and, if it is given, port; an IPv6 address stands in brackets.
    pub registry: String,
    /// Path in the registry.
    pub name: String,
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.name)
    }
}

/// The name of an image.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    pub repository: Repository,
    pub tag: Option<String>,
    pub digest: Option<Digest>,
}

impl Reference {
    /// The image of a repository that has a digest, whatever its tags.
    pub fn pinned(repository: Repository, digest: Digest) -> Self {
        Self { repository, tag: None, digest: Some(digest) }
    }

    /// What a registry is asked for: the digest, else the tag, else `latest`.
    pub fn selector(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => "latest".to_owned(),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        if text.len() > LONGEST {
            return Err(ReferenceError::TooLong);
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest.parse()?)),
            None => (text, None),
        };
        let (registry, path) =
            name.split_once('/').ok_or_else(|| ReferenceError::NoRegistry(text.to_owned()))?;
        if !registry.contains(['.', ':']) && registry != "localhost" {
            return Err(ReferenceError::NoRegistry(text.to_owned()));
        }
        let (path, tag) = match path.split_once(':') {
            Some((path, tag)) => (path, Some(tag)),
            None => (path, None),
        };
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Tag(tag.to_owned()));
        }
        let repository = Repository { registry: check_registry(registry)?, name: check_path(path)? };
        Ok(Self { repository, tag: tag.map(str::to_owned), digest })
    }
}

/// A registry in the one spelling that is used for it.
pub(crate) fn check_registry(text: &str) -> Result<String, ReferenceError> {
    let wrong = || ReferenceError::Registry(text.to_owned());
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']').ok_or_else(wrong)?;
            let address: std::net::Ipv6Addr = address.parse().map_err(|_| wrong())?;
            let port = match rest.strip_prefix(':') {
                Some(port) => Some(port),
                None if rest.is_empty() => None,
                None => return Err(wrong()),
            };
            (format!("[{address}]"), port)
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            let label = |label: &str| {
                !label.is_empty()
                    && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
                    && !label.starts_with('-')
                    && !label.ends_with('-')
            };
            if !host.split('.').all(label) {
                return Err(wrong());
            }
            (host.to_ascii_lowercase(), port)
        }
    };
    let Some(port) = port else { return Ok(host) };
    if !port.bytes().all(|c| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let port: std::num::NonZeroU16 = port.parse().map_err(|_| wrong())?;
    Ok(format!("{host}:{port}"))
}

/// A path in a registry.
pub(crate) fn check_path(text: &str) -> Result<String, ReferenceError> {
    let component = |component: &str| {
        let alphanumeric = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        let bytes = component.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        if !ends.iter().all(|end| end.is_some_and(|c| alphanumeric(*c))) {
            return false;
        }
        // Between letters and digits: one dot, one or two underscores, or any number of dashes.
        let separators = component.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        separators
            .into_iter()
            .all(|run| matches!(run, "" | "." | "_" | "__") || run.bytes().all(|c| c == b'-'))
    };
    if text.split('/').all(component) {
        Ok(text.to_owned())
    } else {
        Err(ReferenceError::Repository(text.to_owned()))
    }
}

fn is_tag(text: &str) -> bool {
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    text.len() <= LONGEST_TAG
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|c| word(c) || matches!(c, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEX: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    #[test]
    fn names() {
        for (text, registry, name, tag, digest) in [
            ("quay.io/a/b", "quay.io", "a/b", None, false),
            ("quay.io/a/b:4.22.9-x86_64", "quay.io", "a/b", Some("4.22.9-x86_64"), false),
            ("localhost/a", "localhost", "a", None, false),
            ("localhost:5000/a", "localhost:5000", "a", None, false),
            ("10.0.0.1:5000/a:b", "10.0.0.1:5000", "a", Some("b"), false),
            ("[fd00::1]:5000/a.b/c__d/e--f:t", "[fd00::1]:5000", "a.b/c__d/e--f", Some("t"), false),
            ("[fd00:0:0::1]/a", "[fd00::1]", "a", None, false),
            ("Quay.IO/a", "quay.io", "a", None, false),
        ] {
            let read: Reference = text.parse().unwrap();
            assert_eq!((read.repository.registry.as_str(), read.repository.name.as_str()), (registry, name));
            assert_eq!((read.tag.as_deref(), read.digest.is_some()), (tag, digest), "{text}");
        }
        let text = format!("quay.io/a/b:tag@sha256:{HEX}");
        let read: Reference = text.parse().unwrap();
        assert_eq!((read.to_string(), read.selector()), (text, format!("sha256:{HEX}")));
        assert_eq!(
            Reference::pinned(read.repository, read.digest.unwrap()).to_string(),
            format!("quay.io/a/b@sha256:{HEX}")
        );
    }

    #[test]
    fn not_names() {
        for text in [
            "",
            "a",
            "a/b",
            "ubuntu:latest",
            "quay.io/",
            "quay.io/A",
            "quay.io/a//b",
            "quay.io/a:",
            "quay.io/-a",
            "quay.io/a..b",
            "quay.io/a:-t",
            "quay.io:0/a",
            "quay.io:99999/a",
            "quay.io:+1/a",
            "quay..io/a",
            "[::1/a",
            "[x]/a",
            "[::1]x/a",
            "quay.io/a@sha256:00",
            "quay.io/a@md5:00",
            "https://quay.io/a",
            "quay.io/a b",
            "qu ay.io/a",
            "-a.b/c",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
        assert_eq!(format!("quay.io/{}", "a".repeat(600)).parse::<Reference>(), Err(ReferenceError::TooLong));
        let upper = format!("sha256:{}", HEX.to_uppercase());
        assert!(upper.parse::<Digest>().is_err());
    }

    #[test]
    fn digests() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(empty.parse(), Ok(Digest::of(b"")));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_as_it_was_read(text in "[a-z.]{1,9}(:[0-9]{1,5})?/[a-z0-9._/-]{1,12}(:[a-zA-Z0-9._-]{1,8})?(@sha256:[0-9a-f]{64})?") {
            if let Ok(read) = text.parse::<Reference>() {
                prop_assert_eq!(read.to_string().parse::<Reference>(), Ok(read));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
            let _ = text.parse::<Reference>();
        }
    }
}
