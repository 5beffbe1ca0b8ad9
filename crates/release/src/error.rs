//! The errors of reading an image, or a part of one. Each text names the image and says what would help.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::reference::{Digest, Reference};

/// The error of one image.
#[derive(Debug)]
pub struct PullError {
    /// Registry, repository and tag or digest of what was asked for, where it was asked for.
    pub reference: Box<Reference>,
    pub cause: RegistryError,
}

impl PullError {
    pub(crate) fn new(reference: &Reference, cause: RegistryError) -> Self {
        Self { reference: Box::new(reference.clone()), cause }
    }
}

impl fmt::Display for PullError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reference, self.cause)
    }
}

impl std::error::Error for PullError {}

/// What is wrong with a registry's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    Expired,
    NotYetValid,
    UnknownIssuer,
    WrongName,
    Other(String),
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "has expired: renew it, and check the clock of this machine",
            Self::NotYetValid => "is not valid yet: check the clock of this machine",
            Self::UnknownIssuer => {
                "is signed by an authority that is not trusted here: add the authority to the trust bundle"
            }
            Self::WrongName => "is for another name: use the name that the certificate is for",
            Self::Other(cause) => return write!(f, "can't be trusted: {cause}"),
        })
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error(
        "the server can't be reached ({0}): check its name and port, name resolution, proxy settings and firewalls"
    )]
    Unreachable(String),
    #[error("the server's certificate {0}")]
    Certificate(Certificate),
    /// The entry of the pull secret that was sent, if there is one for the repository.
    #[error("the registry refuses the credentials{}", remedy(.0.as_deref()))]
    Credentials(Option<String>),
    #[error(
        "the account of the pull secret may not read this repository: have it granted, or use another pull secret"
    )]
    Forbidden,
    #[error("the registry has no such image: check the name; in a mirror, mirror the release again")]
    NoImage,
    #[error("the registry lacks the part {0} of the image: push or mirror the image again")]
    NoBlob(Digest),
    #[error("the server is overloaded and asks to wait{}: try later, or use a mirror", waiting(*.0))]
    Throttled(Option<Duration>),
    #[error("the server fails with status {0}: look at its log, or try later")]
    Server(u16),
    #[error("the server answers with status {0}, which has no meaning here: check that it is the right one")]
    Status(u16),
    #[error(
        "the server redirects to {0}, which is not followed: it must stay with https, lead to no address of this machine or its link, and come to an end"
    )]
    Redirect(String),
    #[error(
        "only {got} of {of} bytes of {digest} came: check the network between and what limits transfers in it, or mirror the image again"
    )]
    Truncated { digest: Digest, got: u64, of: u64 },
    #[error(
        "the content has the digest {got} and not {wanted}: the registry or something on the way to it alters images"
    )]
    WrongDigest { wanted: Digest, got: Digest },
    #[error("{what} is larger than {limit} bytes")]
    TooLarge { what: &'static str, limit: u64 },
    #[error("{0}: the image is none that can be read here")]
    Malformed(String),
    #[error("the image is for {has}, not for {wanted}: name an image that serves {wanted}")]
    NoArchitecture { wanted: &'static str, has: String },
    #[error("the image has no file {0}")]
    NoFile(String),
    #[error("the release has no image {0:?}: name a release that has one")]
    NoComponent(String),
    #[error("the image can't be kept on disk: {0}")]
    Disk(io::Error),
    #[error("the settings for registries can't be used: {0}")]
    Settings(String),
    #[error("the program has stopped")]
    Stopped,
    /// What each place answered, in the order in which they were asked.
    #[error("no source has it{}", sources(.0))]
    Everywhere(Vec<PullError>),
}

impl RegistryError {
    /// Whether the same place may well answer if it is asked again.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Throttled(_) | Self::Server(_) | Self::Truncated { .. })
    }

    /// Whether another place may have it.
    pub(crate) fn is_of_the_place(&self) -> bool {
        !matches!(
            self,
            Self::Disk(_) | Self::Stopped | Self::Settings(_) | Self::NoFile(_) | Self::TooLarge { .. }
        )
    }
}

fn remedy(entry: Option<&str>) -> String {
    match entry {
        Some(entry) => format!(" of the entry {entry:?} in the pull secret: renew it"),
        None => ": the pull secret has no entry for this repository: add one".to_owned(),
    }
}

fn waiting(after: Option<Duration>) -> String {
    after.map_or_else(String::new, |after| format!(" {} s", after.as_secs()))
}

fn sources(errors: &[PullError]) -> String {
    errors.iter().fold(String::new(), |text, error| format!("{text}; {error}"))
}
