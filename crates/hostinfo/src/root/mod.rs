//! Where facts are read from: the running machine, or a tree that was captured from one.
//!
//! Every probe reads through [`Root`], so a machine that nobody has at hand can be a test fixture. Whatever is under
//! a root counts as hostile: reads are bounded, links can't leave a captured tree or send a reader in circles, and
//! only regular files are opened there, so that a FIFO or a device can't stop the collection.

mod device_reads;
mod locate;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::netlink::{self, Netlink};

/// Largest file that is read whole, in bytes; the SMBIOS table and the mount table stay far below.
pub(crate) const MAX_FILE: u64 = 1 << 20;
/// Largest attribute: sysfs gives a page at most, the kernel command line four kilobytes.
const MAX_ATTRIBUTE: u64 = 64 << 10;
/// Largest fact, which is a name, a number or a short list: what is longer is reported to nobody.
const MAX_FACT: u64 = 4 << 10;
/// Most entries of one directory that are looked at; 2 TiB of memory are 16,384 memory blocks.
const MAX_ENTRIES: usize = 65_536;
/// Netlink answers of a captured machine, relative to its root.
pub(crate) const NETLINK_FILE: &str = "/netlink.json";

/// A machine's `/sys`, `/proc`, `/run/udev`, `/dev` and network configuration.
#[derive(Clone, Debug)]
pub struct Root {
    base: PathBuf,
    captured: bool,
    device_reads: device_reads::DeviceReads,
}

impl Root {
    /// The machine this program runs on. In a container it needs the host's `/sys`, `/dev`, `/run/udev`, and its
    /// network and process namespaces.
    pub fn live() -> Self {
        Self { base: PathBuf::from("/"), captured: false, device_reads: device_reads::DeviceReads::default() }
    }

    /// A tree as [`crate::capture::Tree::unpack`] writes it.
    ///
    /// # Errors
    /// When `dir` can't be resolved, mostly because it isn't there.
    pub fn captured(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            base: fs::canonicalize(dir)?,
            captured: true,
            device_reads: device_reads::DeviceReads::default(),
        })
    }

    /// Whether this is a tree, not the running machine.
    pub fn is_captured(&self) -> bool {
        self.captured
    }

    /// Links, addresses and routes; empty where they can't be read.
    pub(crate) fn netlink(&self) -> Netlink {
        let answer = if self.captured {
            self.read(NETLINK_FILE, netlink::MAX_ANSWER)
                .and_then(|bytes| serde_json::from_slice(&bytes).map_err(io::Error::from))
        } else {
            netlink::live::dump()
        };
        answer.unwrap_or_else(|error| {
            tracing::warn!(%error, "network configuration can't be read");
            Netlink::default()
        })
    }

    /// The kernel's name of the machine's architecture, such as `x86_64`.
    pub(crate) fn architecture(&self) -> String {
        // The file came with Linux 6.1; an older kernel only answers the system call.
        self.text("/proc/sys/kernel/arch").filter(|text| !text.is_empty()).unwrap_or_else(|| {
            if self.captured {
                String::new()
            } else {
                rustix::system::uname().machine().to_string_lossy().into_owned()
            }
        })
    }

    fn locate(&self, path: &str) -> io::Result<PathBuf> {
        if self.captured { locate::within(&self.base, path) } else { Ok(PathBuf::from(path)) }
    }

    /// A regular file (or, on the running machine, a disk), open for reading. The caller bounds what it takes.
    pub(crate) fn file(&self, path: &str) -> io::Result<File> {
        let located = self.locate(path)?;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(located)?;
        let kind = file.metadata()?.file_type();
        if kind.is_file() || (kind.is_block_device() && !self.captured) {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file that can be read"))
        }
    }

    /// The whole of a file of at most `limit` bytes.
    pub(crate) fn read(&self, path: &str, limit: u64) -> io::Result<Vec<u8>> {
        let bytes = self.head(path, limit + 1)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than any real one"));
        }
        Ok(bytes)
    }

    /// The first `limit` bytes of a file.
    pub(crate) fn head(&self, path: &str, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file(path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The first `length` bytes of each device, empty where it can't be read; `None` for one that doesn't answer within
    /// `limit`. All are asked anew each time, but for those that still owe an earlier answer.
    pub(crate) fn heads(
        &self,
        paths: &[String],
        length: u64,
        limit: Duration,
    ) -> HashMap<String, Option<Vec<u8>>> {
        let root = self.clone();
        self.device_reads.read(paths, limit, move |path| root.head(path, length).unwrap_or_default())
    }

    /// An attribute's text as it stands, or why there is none.
    pub(crate) fn raw_text(&self, path: &str) -> io::Result<String> {
        self.read(path, MAX_ATTRIBUTE).map(lossy)
    }

    /// An attribute that states one fact, without the white space around it; `None` where it can't be read, or is longer
    /// than any fact.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.read(path, MAX_FACT).ok().map(|bytes| lossy(bytes).trim().to_owned())
    }

    /// A larger text file, such as the mount table; empty where it can't be read.
    pub(crate) fn long_text(&self, path: &str) -> String {
        self.read(path, MAX_FILE).map(lossy).unwrap_or_default()
    }

    /// The names in a directory, sorted; empty where it can't be read. Names that aren't UTF-8 are left out: the
    /// kernel gives none.
    pub(crate) fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = self.locate(path).and_then(fs::read_dir) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .take(MAX_ENTRIES)
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    /// Whether something is there, behind links.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.locate(path).is_ok_and(|located| located.exists())
    }

    /// Whether a directory is there, behind links.
    pub(crate) fn is_dir(&self, path: &str) -> bool {
        self.locate(path).is_ok_and(|located| located.is_dir())
    }

    /// The path behind all links, as the machine itself would name it.
    pub(crate) fn resolve(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.locate(path).ok()?).ok()?;
        let inside =
            if self.captured { real.strip_prefix(&self.base).ok()? } else { real.strip_prefix("/").ok()? };
        Some(format!("/{}", inside.to_str()?))
    }

    /// What a symbolic link holds.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let (dir, name) = path.rsplit_once('/')?;
        let located = self.locate(dir).ok()?.join(name);
        fs::read_link(located).ok()?.into_os_string().into_string().ok()
    }
}

/// Text of bytes; what is no UTF-8 is replaced.
pub(crate) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
