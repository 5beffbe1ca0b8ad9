//! Disks that operators store on.

use assisted_wire::cluster::Cluster;
use assisted_wire::host::Host;
use assisted_wire::inventory::{DriveType, Inventory};

use super::is_selected;
use crate::model::{disk, topology};

const BYTES_PER_GB: i64 = 1_000_000_000;

/// How many of a host's disks could be stored on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidates {
    pub large_enough: i64,
    pub too_small: i64,
}

impl Candidates {
    /// Counts SSDs and HDDs that are not installed on, by whether they have a size in GB (10^9 bytes).
    pub fn of(host: &Host, inventory: &Inventory, least_gb: i64) -> Self {
        let installed_on = disk::chosen(host);
        let candidates = inventory.disks.iter().flatten().filter(|disk| {
            matches!(disk.drive_type, Some(DriveType::Ssd | DriveType::Hdd))
                && disk.size_bytes > 0
                && !disk::is_same(disk, installed_on)
        });
        let mut count = Self::default();
        for disk in candidates {
            if disk.size_bytes >= least_gb.saturating_mul(BYTES_PER_GB) {
                count.large_enough += 1;
            } else {
                count.too_small += 1;
            }
        }
        count
    }
}

/// How much larger, in GB, a disk must be for the multicluster engine to store on it too.
pub(super) fn engine_gb(cluster: &Cluster) -> i64 {
    match (is_selected(cluster, "mce"), topology::is_single_node(cluster)) {
        (false, _) => 0,
        (true, true) => 70,
        (true, false) => 50,
    }
}
