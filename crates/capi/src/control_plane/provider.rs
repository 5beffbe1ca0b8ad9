//! What the provider works with: the management cluster, the installer, releases, clusters that run.

use std::sync::Arc;

use super::installer::Installer;
use super::management_cluster::ManagementCluster;
use super::release::Releases;
use super::workload::Workloads;

/// The provider.
pub(super) struct Provider {
    pub(super) management: Arc<ManagementCluster>,
    pub(super) installer: Installer,
    pub(super) releases: Releases,
    pub(super) workloads: Workloads,
}
