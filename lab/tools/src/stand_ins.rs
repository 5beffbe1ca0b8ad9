//! Programs of a CoreOS system that `lab-cluster` is on machines of namespaces.

/// Stands on a machine of namespaces whose registry is to have another image than was pushed: its podman sees to that.
pub const SWAPS_PUSHED: &str = "/etc/lab-swaps-pushed";

/// The names under which `lab-cluster` stands in for a program of the system.
pub const STAND_INS: &[&str] = &[
    "coreos-installer",
    "dmsetup",
    "fsfreeze",
    "growpart",
    "hostnamectl",
    "ironic-agent",
    "journalctl",
    "lab-init",
    "lsblk",
    "machine-config-controller",
    "machine-config-daemon",
    "mount",
    "ostree",
    "podman",
    "pvs",
    "setenforce",
    "systemctl",
    "systemd-run",
    "update-ca-trust",
    "vgs",
    "xfs_growfs",
];
