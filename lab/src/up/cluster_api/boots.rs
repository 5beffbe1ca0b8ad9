//! How machines of Cluster API boot.

use clap::ValueEnum;

use crate::up::topology::Role;

/// How machines of Cluster API boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Boots {
    /// The discovery's live ISO
    LiveIso,
    /// A disk image, with the discovery's Ignition config as user data; on machines of namespaces
    DiskImage,
    /// Masters the live ISO, workers a disk image
    Both,
}

impl Boots {
    pub(super) fn live_iso(self, role: Role) -> bool {
        match self {
            Self::LiveIso => true,
            Self::DiskImage => false,
            Self::Both => role == Role::Master,
        }
    }
}
