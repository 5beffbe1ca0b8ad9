//! Where the files come from that hosts are installed with.

use std::time::Duration;

use crate::size::Size;
use crate::topic::topic;
use crate::value::choice;

/// What generates the files that hosts are installed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// OpenShift's installer program, taken out of the release.
    #[default]
    Openshift,
    /// A stand-in: valid files for simulated hosts, of which no cluster comes.
    Simulation,
}

choice! {
    Generator, "openshift or simulation",
    "openshift" => Self::Openshift,
    "simulation" => Self::Simulation,
}

topic! {
    /// What hosts are installed with.
    Generation {
        /// What generates Ignition configs, install config and credentials; simulation is for simulated hosts, and installs no others.
        generator: Generator = Generator::Openshift, "GENERATOR";
        /// How many clusters are generated at once.
        at_once: usize = 4, "GENERATIONS_AT_ONCE";
        /// How long one run of the installer program may take.
        installer_timeout: Duration = Duration::from_secs(10 * 60), "INSTALLER_TIMEOUT";
        /// Memory that one run of the installer program may take for its data.
        installer_memory: Size = Size(4 << 30), "INSTALLER_MEMORY";
        /// Folder with certificates and keys that new clusters get in the place of their own; empty: each makes its own.
        tls_dir: String = String::new(), "EPHEMERAL_INSTALLER_CLUSTER_TLS_CERTS_OVERRIDE_DIR";
        /// Bytes of all installer programs that are kept; 0: as many as come.
        installer_cache_capacity: Size = Size(0), "INSTALLER_CACHE_CAPACITY";
        /// Bytes of one installer program at the most.
        installer_cache_max_release_size: Size = Size(2 << 30), "INSTALLER_CACHE_MAX_RELEASE_SIZE";
    }
}

/// What a service that simulates says of itself.
pub const SIMULATION: &str = "this service only simulates installations (GENERATOR=simulation): it installs no real host, and no \
     cluster comes of what it installs";

impl Generation {
    /// Whether installations are only simulated.
    pub fn is_simulated(&self) -> bool {
        self.generator == Generator::Simulation
    }
}
