//! What the tests of each crate need beside Rust: of this, `cargo xtask test` makes its order, and CONTRIBUTING.md its table.

/// Stages that make something that tests run.
pub const PYTHON: &str = "python";
pub const PROGRAMS: &str = "programs";
pub const COREOS_INSTALLER: &str = "coreos-installer";
pub const KUBERNETES: &str = "kubernetes";
pub const CLUSTER_API: &str = "cluster api";
pub const S3: &str = "s3s-fs";
pub const RELEASE_JUDGES: &str = "judges of releases";
pub const KAFKA: &str = "kafka";
pub const LAB_IMAGE: &str = "lab image";
pub const HOST_PROGRAM: &str = "program for hosts";
pub const UI: &str = "web UI";
pub const CHROMIUM: &str = "chromium";

/// The needs of a crate's tests.
pub struct Needs {
    pub package: &'static str,
    /// Only root may do what they do: mount, or make networks.
    root: bool,
    /// What Debian has and they start.
    debian: &'static str,
    /// What is made for them.
    pub stages: &'static [&'static str],
}

const fn of(package: &'static str, debian: &'static str, stages: &'static [&'static str]) -> Needs {
    Needs { package, root: false, debian, stages }
}

const fn as_root(package: &'static str, debian: &'static str, stages: &'static [&'static str]) -> Needs {
    Needs { package, root: true, debian, stages }
}

/// Crates whose tests need something. Those that take longest come first, since they begin first.
pub const NEEDS: &[Needs] = &[
    as_root(
        "assisted-lab-machines",
        "QEMU, bubblewrap, ignition, docker-registry, PostgreSQL, chrony, dnsmasq, xorriso, Node, npm and more",
        &[PYTHON, UI, CHROMIUM, PROGRAMS, COREOS_INSTALLER, KUBERNETES, CLUSTER_API, LAB_IMAGE, HOST_PROGRAM],
    ),
    as_root("assisted-lab-cluster", "bubblewrap, etcd, ignition-validate", &[PROGRAMS, KUBERNETES]),
    of("assisted-ui", "Node, npm, bind9, xorriso", &[PYTHON, UI, CHROMIUM, PROGRAMS]),
    of("assisted-simhost", "PostgreSQL", &[PROGRAMS]),
    of("assisted-lab", "", &[PROGRAMS]),
    as_root(
        "assisted",
        "PostgreSQL, docker-registry, xorriso, bubblewrap, prometheus, e2fsprogs, fish, zsh, curl, jq",
        &[PYTHON, PROGRAMS],
    ),
    as_root("assisted-host", "podman, bubblewrap, docker-registry, busybox-static, ignition, curl", &[]),
    as_root(
        "assisted-package",
        "podman, catatonit, skopeo, bubblewrap, docker-registry, bash-static, busybox-static, systemd, mmdebstrap, make, \
         etcd, Node, npm",
        &[PYTHON, UI, PROGRAMS, HOST_PROGRAM, KUBERNETES, RELEASE_JUDGES],
    ),
    of("assisted-controller", "etcd", &[KUBERNETES]),
    of("assisted-installer", "etcd", &[PROGRAMS, KUBERNETES]),
    of("assisted-crd", "etcd", &[KUBERNETES]),
    as_root("assisted-kubeapi", "bubblewrap, etcd, iproute2, xorriso", &[PROGRAMS, KUBERNETES]),
    of("assisted-capi", "etcd, docker-registry, ignition-validate, jq", &[KUBERNETES, CLUSTER_API]),
    of(
        "assisted-service",
        "PostgreSQL, bind9, docker-registry, ignition-validate, jq, prometheus, Java",
        &[PYTHON, KAFKA],
    ),
    of("assisted-sink", "Java, Maven", &[KAFKA]),
    of("assisted-store", "PostgreSQL", &[PROGRAMS]),
    of("assisted-backup", "PostgreSQL", &[PYTHON]),
    of("assisted-import", "PostgreSQL", &[PYTHON]),
    of("assisted-testkit", "PostgreSQL, docker-registry, etcd", &[KUBERNETES]),
    of("assisted-bmc", "", &[PYTHON]),
    of("assisted-blob", "", &[PYTHON, S3]),
    of("assisted-api", "", &[PYTHON]),
    of("assisted-dns", "bind9", &[PYTHON]),
    as_root("assisted-agent", "chrony, dnsmasq, fio, iproute2", &[]),
    of("assisted-release", "docker-registry", &[]),
    of("assisted-isokit", "xorriso", &[COREOS_INSTALLER]),
    of("assisted-imageserver", "xorriso", &[]),
    of("assisted-ignition", "ignition-validate", &[]),
    of("assisted-base", "openssl", &[]),
];

/// What the tests of a crate need that is made for them; most need nothing.
pub fn stages(package: &str) -> &'static [&'static str] {
    of_package(package).map_or(&[], |needs| needs.stages)
}

fn of_package(package: &str) -> Option<&'static Needs> {
    NEEDS.iter().find(|needs| needs.package == package)
}

/// What the tests of a crate find on the system or fail: for whoever runs them.
pub fn requirements(package: &str) -> Option<String> {
    let Needs { root, debian, .. } = of_package(package)?;
    let root = if *root { "root" } else { "" };
    let needs = [root, *debian].into_iter().filter(|need| !need.is_empty()).collect::<Vec<_>>();
    (!needs.is_empty()).then(|| format!("the tests of {package} need {}", needs.join(", ")))
}

/// Where a crate's tests stand among those that begin first.
pub fn place(package: &str) -> usize {
    NEEDS.iter().position(|needs| needs.package == package).unwrap_or(NEEDS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_contributing_is_this_one() {
        let mut table =
            "| crate | root | of Debian | made by `cargo xtask test -p` |\n|---|---|---|---|\n".to_owned();
        for Needs { package, root, debian, stages } in NEEDS {
            let root = if *root { "yes" } else { "" };
            table.push_str(&format!("| `{package}` | {root} | {debian} | {} |\n", stages.join(", ")));
        }
        let contributing = include_str!("../../../CONTRIBUTING.md");
        assert!(contributing.contains(&table), "CONTRIBUTING.md must hold:\n{table}");
    }
}
