//! Static networking of hosts: NMState YAML to NetworkManager keyfiles, and which machine they belong to.
//!
//! [`check`] judges what a user gives, [`keyfile`] makes keyfiles of it, [`policy`] the form in which a host's own nmstate
//! would apply it. [`image_files`] has the files that a discovery image carries, with the script by which a machine finds its own
//! among them; [`archive`] has those that the API gives out.

pub mod archive;
pub mod check;
mod error_locator;
pub mod image_files;
pub mod keyfile;
pub mod policy;
mod yaml;

pub use check::{Problems, check};
pub use keyfile::Keyfile;

/// Where the settings of hosts lie, one folder for each host.
pub const FOLDER: &str = "/etc/assisted/network";

/// A file for hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Absolute.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    pub content: String,
}

impl File {
    fn of_host(index: usize, name: &str, content: String) -> Self {
        Self { path: format!("{FOLDER}/host{index}/{name}"), mode: 0o600, content }
    }
}

/// Why there are no files for a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not YAML, or too large.
    #[error("{0}")]
    Yaml(String),
    /// nmstate refuses it; `kind` is its name for that kind of mistake, `place` the part that is to blame, or empty.
    #[error("nmstate GenerateConfiguration failed, error: {kind}: {message}{place}")]
    Refused { kind: String, message: String, place: String },
    #[error("nmstate generated an empty NetworkManager config file content")]
    Nothing,
    /// The name of an interface can't be that of a file.
    #[error(
        "interface name {0:?} can't be used: give it at most {LONGEST_NAME} printable characters without / and @"
    )]
    Name(String),
}

/// Characters of an interface's name at most: the kernel takes 15, profiles of some kinds more.
const LONGEST_NAME: usize = 60;
