//! The overlay of an image, which is what one infra-env lays over a base image.

use std::time::{Duration, SystemTime};

use assisted_isokit::ignition::Archive;
use bytes::Bytes;
use http::HeaderValue;
use sha2::{Digest, Sha256};

/// A time of change that is as young as this may belong to two changes: times come in whole seconds.
const SETTLING: Duration = Duration::from_secs(2);

/// The kinds of image that are made of a base image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ImageKind {
    Full,
    Minimal,
    Disconnected,
    /// The initramfs that iPXE loads.
    Initrd,
}

impl ImageKind {
    /// The type that the Ignition config is asked for; none: the infra-env's own.
    pub fn iso_type(self) -> Option<&'static str> {
        match self {
            Self::Full => Some("full-iso"),
            Self::Minimal => Some("minimal-iso"),
            Self::Disconnected => Some("disconnected-iso"),
            Self::Initrd => None,
        }
    }
}

/// What is laid over a base image.
#[derive(Debug)]
pub(crate) struct Overlay {
    pub ignition: Archive,
    pub ramdisk: Option<Bytes>,
    pub kargs: Option<Vec<String>>,
    /// When the infra-env changed last.
    pub modified: SystemTime,
    /// The same as the API service wrote it.
    pub last_modified: Option<HeaderValue>,
    /// Digest of all its parts.
    pub digest: [u8; 32],
    /// Whether the time of change stands for exactly these parts.
    pub settled: bool,
}

impl Overlay {
    /// An overlay of these parts, as of `now`; `last_modified` is what the API service says.
    pub fn new(
        ignition: Archive,
        ramdisk: Option<Bytes>,
        kargs: Option<Vec<String>>,
        last_modified: Option<HeaderValue>,
        now: SystemTime,
    ) -> Self {
        let when = last_modified
            .as_ref()
            .and_then(|last_modified| httpdate::parse_http_date(last_modified.to_str().ok()?).ok());
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        };
        add(&ignition.bytes());
        add(ramdisk.as_deref().unwrap_or_default());
        kargs.iter().flatten().for_each(|karg| add(karg.as_bytes()));
        add(&[ramdisk.is_some().into(), kargs.is_some().into()]);
        Self {
            ignition,
            ramdisk,
            kargs,
            modified: when.unwrap_or(now),
            last_modified: when.and(last_modified),
            digest: digest.finalize().into(),
            settled: when.is_some_and(|when| now.duration_since(when).is_ok_and(|age| age > SETTLING)),
        }
    }

    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> u64 {
        self.ignition.len() + self.ramdisk.as_ref().map_or(0, |ramdisk| ramdisk.len() as u64) + 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(last_modified: &str, now: &str) -> Overlay {
        let archive = Archive::new(b"{}").unwrap();
        let last_modified = HeaderValue::from_str(last_modified).unwrap();
        Overlay::new(archive, None, None, Some(last_modified), httpdate::parse_http_date(now).unwrap())
    }

    #[test]
    fn a_time_stands_for_one_state_once_its_second_is_over() {
        let now = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert!(overlay("Sun, 06 Nov 1994 08:49:30 GMT", now).settled);
        assert!(!overlay("Sun, 06 Nov 1994 08:49:36 GMT", now).settled);
        // A clock that goes before ours.
        assert!(!overlay("Sun, 06 Nov 1994 08:50:00 GMT", now).settled);
        let nonsense = overlay("yesterday", now);
        assert!(!nonsense.settled && nonsense.last_modified.is_none());
        assert_eq!(nonsense.modified, httpdate::parse_http_date(now).unwrap());
    }

    #[test]
    fn the_digest_tells_all_parts_apart() {
        let make = |ramdisk: Option<&'static [u8]>, kargs: Option<&[&str]>| {
            let kargs = kargs.map(|kargs| kargs.iter().map(|karg| (*karg).to_owned()).collect());
            let archive = Archive::new(b"{}").unwrap();
            Overlay::new(archive, ramdisk.map(Bytes::from_static), kargs, None, SystemTime::UNIX_EPOCH).digest
        };
        let all = [
            make(None, None),
            make(Some(b""), None),
            make(None, Some(&[])),
            make(Some(b"a"), None),
            make(None, Some(&["a"])),
            make(None, Some(&["a", "b"])),
            make(None, Some(&["ab"])),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all.iter().skip(index + 1).all(|other| one != other), "{index}");
        }
    }
}
