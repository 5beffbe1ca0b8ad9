//! Programs of a CoreOS system that `lab-cluster` is on machines of namespaces.

/// The names under which `lab-cluster` stands in for a program of the system.
pub const STAND_INS: &[&str] = &[
    "coreos-installer",
    "dmsetup",
    "journalctl",
    "lab-init",
    "machine-config-daemon",
    "podman",
    "pvs",
    "systemctl",
    "systemd-run",
    "vgs",
];
