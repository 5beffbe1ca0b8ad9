//! The outcome of the last preparation, as the API shows it (state-machines §2.1).

use assisted_wire::cluster::{Cluster, InstallationPreparationStatus, LastInstallationPreparation};

pub(crate) const NOT_PERFORMED: &str = "Installation preparation not performed";
pub(crate) const SUCCEEDED: &str = "Installation preparation successful";
pub(crate) const TIMED_OUT: &str =
    "Installation failed. Try again, and contact support if the issue persists.";

/// Records the outcome of a preparation.
pub(crate) fn set(cluster: &mut Cluster, status: InstallationPreparationStatus, reason: &str) {
    cluster.last_installation_preparation =
        Some(LastInstallationPreparation { status: Some(status), reason: reason.to_owned() });
}

/// Forgets the outcome: the preparation starts anew.
pub(crate) fn restart(cluster: &mut Cluster) {
    set(cluster, InstallationPreparationStatus::NotStarted, NOT_PERFORMED);
}
