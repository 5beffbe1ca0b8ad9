//! What the installer is told when it starts (installer-and-controller §A2).

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use assisted_wire::host::HostRole;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::secret::Secret;

/// The installer's settings.
#[derive(Clone, Debug)]
pub struct Config {
    pub role: HostRole,
    pub cluster_id: ClusterId,
    pub infra_env_id: InfraEnvId,
    /// Without one nothing is reported.
    pub host_id: Option<HostId>,
    /// The disk that is installed to: a path below `/dev`, or a link there.
    pub boot_device: PathBuf,
    /// Address of the service.
    pub url: String,
    pub openshift_version: String,
    /// Image of the machine-config-operator; lays the bootstrap's files on this host.
    pub mco_image: String,
    pub controller_image: String,
    /// Whether any certificate of the service is accepted.
    pub insecure: bool,
    /// Certificates (PEM) trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Addresses of the service for the controller, which may not be able to resolve its name.
    pub service_ips: Vec<IpAddr>,
    /// 0 where it isn't known or doesn't matter.
    pub control_plane_count: u32,
    pub check_cluster_version: bool,
    /// An image, or a JSON object of images.
    pub must_gather_image: String,
    /// Disks that lose their partition table, so that no machine boots from them.
    pub disks_to_format: Vec<PathBuf>,
    pub skip_disk_cleanup: bool,
    /// Whether the release's system replaces that of the image before the first start, which saves another one.
    pub skip_mco_reboot: bool,
    pub notify_num_reboots: bool,
    /// Whether the controller approves every request for a certificate of a node.
    pub approve_all_csrs: bool,
    /// Image of the system where it is laid beside the running one, instead of on a disk of its own; may be empty.
    pub coreos_image: String,
    /// A JSON array of arguments for the tool that writes the image; may be empty.
    pub installer_args: String,
    /// Token; may be empty where the service asks for none.
    pub token: Secret,
    /// Set where the host is pretended.
    pub dry_run: Option<DryRun>,
    pub intervals: Intervals,
}

/// A pretended installation (installer-and-controller §A21).
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    /// Written instead of a restart.
    pub reboot_marker: PathBuf,
    /// File with the hosts of the cluster, so that they can be seen in it.
    pub cluster_hosts: PathBuf,
}

impl Config {
    /// Whether this host's cluster is it alone. A control-plane host that is added later isn't told which image prepares
    /// a bootstrap, and must not become one.
    pub fn is_single_node(&self) -> bool {
        self.control_plane_count == 1
            && (self.role == HostRole::Bootstrap
                || (self.role == HostRole::Master && !self.mco_image.is_empty()))
    }

    /// Whether this host carries the temporary control plane until the other ones are up.
    pub fn is_bootstrap(&self) -> bool {
        self.role == HostRole::Bootstrap && !self.is_single_node()
    }

    /// Whether the system is laid beside the one that runs.
    pub fn keeps_disk(&self) -> bool {
        !self.coreos_image.is_empty()
    }
}

/// How long is waited between two looks. Nothing that is waited for has a limit here: how long a stage may take is the
/// service's to say.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    divisor: u32,
}

impl Intervals {
    /// So many times as fast; for tests.
    pub fn faster(divisor: u32) -> Self {
        Self { divisor: divisor.max(1) }
    }

    pub(crate) fn of(self, pause: Duration) -> Duration {
        pause / self.divisor
    }

    pub(crate) async fn pause(self, seconds: u64) {
        tokio::time::sleep(self.of(Duration::from_secs(seconds))).await;
    }
}

impl Default for Intervals {
    fn default() -> Self {
        Self::faster(1)
    }
}
