//! Texts of `status_info`, which people and programs read (state-machines §3.4).
//!
//! [`STAGE`], [`MINUTES`], [`OUTCOME`] and [`IMAGE`] in a text stand for what is only known when the rule is applied.

/// Stands for the finalizing stage.
pub const STAGE: &str = "$STAGE";
/// Stands for the time limit that passed, in minutes.
pub const MINUTES: &str = "$MINUTES";
/// Stands for how well the installation ended.
pub const OUTCOME: &str = "$OUTCOME";
/// Stands for why the image of a pool's nodes failed.
pub const IMAGE: &str = "$IMAGE";

pub const READY: &str = "Cluster ready to be installed";
pub const INSUFFICIENT: &str = "Cluster is not ready for install";
pub const PENDING: &str = "User input required";
pub const PREPARING: &str = "Preparing cluster for installation";
pub const PREPARATION_TIMED_OUT: &str = "Preparing cluster for installation timeout";
pub const PREPARATION_FAILED: &str = "Cluster failed to prepare for installation";
pub const PREPARATION_LEFT: &str = "At least one host has stopped preparing for installation";
pub const INSTALLING: &str = "Installation in progress";
pub const PENDING_USER_ACTION: &str = "Cluster has hosts pending user action";
pub const FINALIZING: &str = "Finalizing cluster installation";
/// One of the next three.
pub const COMPLETED: &str = OUTCOME;
pub const INSTALLED: &str = "Cluster is installed";
/// Followed by the names of the operators.
pub const DEGRADED: &str = "Cluster is installed but degraded";
pub const WORKERS_MISSING: &str = "Cluster is installed but some workers did not join";
pub const HOSTS_FAILED: &str = "cluster has hosts in error";
/// Of a cluster whose nodes boot images of their own (ocl-day1 §B12); it takes the place of the one before as well.
pub const IMAGE_FAILED: &str = IMAGE;
pub const PENDING_TOO_LONG: &str =
    "cluster installation timed out while pending user action (a manual booting from installation disk)";
pub const INSTALLATION_TIMED_OUT: &str = "cluster installation timeout ($MINUTES minutes) has expired";
pub const FINALIZING_TIMED_OUT: &str = "Cluster installation timeout while finalizing";
pub const STAGE_TIMED_OUT: &str =
    "Cluster finalizing stage '$STAGE' has been timed out after timeout duration of $MINUTES minutes";
pub const STAGE_SLOW: &str = "Cluster finalizing stage '$STAGE' is taking longer than the expected duration ($MINUTES minutes). To troubleshoot use kubeconfig or connect to any node using ssh";
pub const CANCELLED: &str = "Installation was cancelled by user";
pub const ADDING_HOSTS: &str = "cluster is adding hosts to existing OCP cluster";
pub const RESET: &str = "cluster was reset by user";
