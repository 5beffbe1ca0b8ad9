//! Hosts: their checks, their steps, and the hardware that they need.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use assisted_wire::cluster::ClusterValidationId;
use assisted_wire::host::HostValidationId;

use crate::topic::{SettingsError, topic};
use crate::value::{Value, excerpt};

/// The variable of a [`RequirementsText`].
const REQUIREMENTS: &str = "HW_VALIDATOR_REQUIREMENTS";

topic! {
    /// Hosts, their checks and steps.
    Hosts {
        /// How long a host may be silent before it counts as disconnected.
        max_disconnection_time: Duration = Duration::from_secs(3 * 60), "HOST_MAX_DISCONNECTION_TIME";
        /// Whether roles are chosen for hosts that have none.
        enable_auto_assign: bool = true, "ENABLE_AUTO_ASSIGN";
        /// Host validations that are switched off.
        disabled_host_validations: BTreeSet<HostValidationId> = BTreeSet::new(), "DISABLED_HOST_VALIDATIONS";
        /// Cluster validations that are switched off.
        disabled_cluster_validations: BTreeSet<ClusterValidationId> = BTreeSet::new(), "DISABLED_CLUSTER_VALIDATIONS";
        /// Steps that are never sent.
        disabled_steps: Vec<String> = Vec::new(), "DISABLED_STEPS";
        /// Time limit of the disk-speed check.
        disk_check_timeout: Duration = Duration::from_secs(8 * 60), "DISK_CHECK_TIMEOUT";
        /// Time limit of the image-availability check.
        image_availability_timeout: Duration = Duration::from_secs(16 * 60), "IMAGE_AVAILABILITY_TIMEOUT";
        /// Time limit of the start of the agent.
        agent_timeout_start: Duration = Duration::from_secs(10 * 60), "AGENT_TIMEOUT_START";
        /// Largest inventory that an agent sends, bytes; 0: no limit.
        agent_inventory_max_size: u64 = 0, "AGENT_INVENTORY_MAX_SIZE";
        /// Smallest disk that an agent reports, bytes; 0: all.
        agent_inventory_disk_min_size: u64 = 0, "AGENT_INVENTORY_DISK_MIN_SIZE";
        /// MAC address of the host that must become the bootstrap host; empty: any.
        bootstrap_host_mac: String = String::new(), "BOOTSTRAP_HOST_MAC";
        /// Whether virtual interfaces are reported.
        enable_virtual_interfaces: bool = false, "ENABLE_VIRTUAL_INTERFACES";
        /// Whether the time limits of an installation only warn.
        enable_soft_timeouts: bool = false, "ENABLE_SOFT_TIMEOUTS";
    }
}

topic! {
    /// What hardware is required.
    Hardware {
        /// Requirements by version and role.
        requirements: RequirementsText = RequirementsText::default(), "HW_VALIDATOR_REQUIREMENTS";
        /// Largest difference between the clocks of a cluster's hosts, minutes.
        max_time_diff_minutes: i64 = 4, "HW_VALIDATOR_MAX_TIME_DIFF_MINUTES";
        /// Product names of machines that need no more than an edge worker.
        edge_workers_product_names: Vec<String> = vec!["BlueField SoC".to_owned()], "EDGE_WORKERS_PRODUCT_NAMES";
    }
}

/// A table of requirements, as it is written; empty: the one that is built in. The domain reads it, and refuses one that makes
/// no sense.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequirementsText(pub String);

impl RequirementsText {
    /// The refusal of a table that makes no sense.
    pub fn refused(&self, problem: impl fmt::Display) -> SettingsError {
        SettingsError::Invalid {
            variable: REQUIREMENTS,
            problem: format!("{}: {problem}", excerpt(&self.0)),
            remedy: Self::KIND,
            default: Self::default().show(),
        }
    }
}

impl Value for RequirementsText {
    const KIND: &'static str =
        "a JSON list of requirements, each with version and, by role, cpu_cores, ram_mib and disk_size_gb";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }

    fn show(&self) -> String {
        "built in".to_owned()
    }
}
