//! Programs of a CoreOS system that `lab-cluster` is on machines of namespaces.

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
