//! What the image is made from.

use serde_json::{Value, json};

/// The image's version, as an OS image of the service has one: like CoreOS's, made of a release and a date.
pub const VERSION: &str = "418.94.202511210000-0";

/// The date of everything in the image, in seconds since 1970: the same recipe gives the same bytes.
pub(super) const EPOCH: u64 = 1_763_683_200;

/// Debian's release.
pub(super) const SUITE: &str = "bookworm";

/// Which image is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What machines of the lab boot.
    Plain,
    /// The same, and what it writes onto disks is a system of ostree's: for machines that start from images of their own.
    Ostree,
}

/// Debian packages beside the essential ones.
pub(super) const PACKAGES: &[&str] = &[
    "bash",
    "ca-certificates",
    "chrony",
    "cpio",
    "crun",
    "curl",
    "dbus",
    "dmidecode",
    "dosfstools",
    "dracut-core",
    "dracut-network",
    "e2fsprogs",
    "efibootmgr",
    "ethtool",
    "fdisk",
    "gdisk",
    "gnupg",
    "ignition",
    "iproute2",
    "iputils-ping",
    "kmod",
    "less",
    "libnss-myhostname",
    "linux-image-amd64",
    "lvm2",
    "mdadm",
    "network-manager",
    "openssh-client",
    "parted",
    "pciutils",
    "podman",
    "procps",
    "sudo",
    "systemd",
    "systemd-sysv",
    "udev",
    "xfsprogs",
    "zstd",
];

/// What an image with ostree has beside them: ostree itself, what fetches images for it and runs programs of theirs, what lets a partition grow,
/// and what a node's own scripts read JSON by.
pub(super) const OSTREE_PACKAGES: &[&str] =
    &["bubblewrap", "cloud-guest-utils", "jq", "ostree", "ostree-boot", "skopeo"];

/// dracut's modules; `assisted-lab` is ours.
pub(super) const DRACUT_MODULES: &str =
    "bash systemd systemd-initrd dbus network-manager ignition assisted-lab";

/// Those of an image with ostree beside them; `assisted-lab-ostree` is ours.
pub(super) const OSTREE_DRACUT_MODULES: &str = "ostree assisted-lab-ostree";

/// What the packages bring and nobody reads.
pub(super) const UNWANTED: &[&str] = &[
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/share/lintian/*",
];

/// The hook that finishes the root file system.
pub(super) const CUSTOMIZE: &str = include_str!("../../image/customize.sh");

/// What makes a system of ostree's of the live root.
pub(super) const TREE: &str = include_str!("../../image/ostree/tree.sh");

/// A file of the project that goes into the root file system.
pub(super) struct Embedded {
    pub(super) path: &'static str,
    pub(super) content: &'static str,
}

macro_rules! embedded {
    ($($folder:literal => $place:literal: [$($name:literal),+ $(,)?]),+ $(,)?) => {
        &[$($(Embedded {
            path: concat!($place, "/", $name),
            content: include_str!(concat!("../../image/", $folder, "/", $name)),
        },)+)+]
    };
}

/// Files of the project in the image. Scripts can be run.
pub(super) const FILES: &[Embedded] = embedded![
    "dracut" => "usr/lib/dracut/modules.d/95assisted-lab": [
        "module-setup.sh",
        "coreos-copy-firstboot-network.service",
        "coreos-copy-firstboot-network.sh",
        "coreos-livepxe-rootfs.service",
        "dhcp.conf",
        "emergency.service",
        "ignition-fetch.conf",
        "is-live-image.sh",
        "lab-argument.sh",
        "lab-emergency.sh",
        "lab-fetch-root.sh",
        "lab-first-start.service",
        "lab-first-start.sh",
        "lab-hand-over-network.service",
        "lab-hand-over-network.sh",
        "lab-installed-root.service",
        "lab-installed-root.sh",
        "lab-medium.service",
        "lab-medium.sh",
        "lab-network.service",
        "lab-network.sh",
        "lab-root.service",
        "lab-root.sh",
        "lab-setup-user.service",
        "lab-setup-user.sh",
        "nm-initrd.conf",
        "nm-wait-online-initrd.conf",
        "setfiles.sh",
    ],
    "root" => "usr/lib/systemd/system-preset": ["80-lab.preset"],
    "root" => "usr/lib/systemd/system": ["lab-firstboot-complete.service"],
    "root" => "usr/lib/systemd/journald.conf.d": ["console.conf"],
    "root/bin" => "usr/bin": ["rpm-ostree"],
    "root/libexec" => "usr/libexec": ["lab-firstboot-complete"],
    "root" => "usr/lib/tmpfiles.d": ["chrony-dirs.conf"],
    "root" => "etc": ["chrony.conf"],
    "root" => "etc/containers/registries.conf.d": ["lab-registries.conf"],
    "root/selinux" => "etc/selinux": ["config"],
];

/// Files of the project in an image with ostree beside them.
pub(super) const OSTREE_FILES: &[Embedded] = embedded![
    "ostree/dracut" => "usr/lib/dracut/modules.d/96assisted-lab-ostree": [
        "module-setup.sh",
        "lab-installed-root.sh",
        "lab-ostree-var.sh",
        "prepare-root.conf",
    ],
    "ostree/live" => "usr/sbin": ["setenforce"],
    "ostree/live" => "usr/bin": ["update-ca-trust"],
    "ostree/live" => "etc/containers": ["registries.conf"],
];

/// Files of the project that only what is installed has of such an image.
pub(super) const TREE_FILES: &[Embedded] = embedded![
    "ostree/tree" => "usr/lib/systemd/system": ["boot.mount"],
    "ostree/tree" => "usr/libexec": ["lab-firstboot-complete"],
    "ostree/tree" => "usr/sbin": ["semodule"],
];

impl Kind {
    /// Debian packages beside the essential ones.
    pub(super) fn packages(self) -> Vec<&'static str> {
        [PACKAGES, self.only(OSTREE_PACKAGES)].concat()
    }

    /// Files of the project in the live root.
    pub(super) fn files(self) -> impl Iterator<Item = &'static Embedded> {
        FILES.iter().chain(self.only(OSTREE_FILES))
    }

    /// What the initramfs is made of.
    pub(super) fn dracut_modules(self) -> String {
        match self {
            Self::Plain => DRACUT_MODULES.to_owned(),
            Self::Ostree => format!("{DRACUT_MODULES} {OSTREE_DRACUT_MODULES}"),
        }
    }

    fn only<T>(self, ostree: &'static [T]) -> &'static [T] {
        if self == Self::Ostree { ostree } else { &[] }
    }
}

/// What tools may customise (image-service §2.5).
pub(super) fn features() -> Value {
    json!({
        "installer-config": true,
        "installer-config-directives": {
            "append-karg": true,
            "architecture": true,
            "console": true,
            "copy-network": true,
            "delete-karg": true,
            "dest-device": true,
            "fetch-retries": true,
            "ignition-file": true,
            "ignition-hash": true,
            "ignition-url": true,
            "image-file": true,
            "image-url": true,
            "insecure": true,
            "insecure-ignition": true,
            "network-dir": true,
            "offline": true,
            "platform": true,
            "preserve-on-error": true,
            "save-partindex": true,
            "save-partlabel": true,
            "secure-ipl": true,
            "sector-size": true,
            "stream": true,
            "stream-base-url": true,
        },
        "live-initrd-network": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_of_ostree_installs_its_files_and_the_plain_image_has_none_of_them() {
        let of_module = |file: &&Embedded| {
            file.path.contains("96assisted-lab-ostree") && !file.path.ends_with("setup.sh")
        };
        let setup = OSTREE_FILES.iter().find(|file| file.path.ends_with("module-setup.sh")).unwrap().content;
        for file in OSTREE_FILES.iter().filter(of_module) {
            let name = file.path.rsplit('/').next().unwrap();
            assert!(setup.contains(name), "{name} is not installed");
        }
        assert!(!Kind::Plain.files().any(|file| of_module(&file)));
        assert_eq!(Kind::Plain.packages(), PACKAGES);
        assert_eq!(Kind::Ostree.files().filter(of_module).count(), 3);
        assert!(Kind::Ostree.packages().contains(&"ostree-boot"));
    }

    #[test]
    fn every_unit_and_script_of_the_module_is_installed_by_it() {
        let setup = FILES.iter().find(|file| file.path.ends_with("module-setup.sh")).unwrap().content;
        for file in
            FILES.iter().filter(|file| file.path.contains("dracut") && !file.path.ends_with("setup.sh"))
        {
            let name = file.path.rsplit('/').next().unwrap();
            let stem = name.trim_end_matches(".conf");
            let by_pattern =
                name.starts_with("lab-") && name.ends_with(".sh") || stem != name && setup.contains(stem);
            assert!(by_pattern || setup.contains(name), "{name} is not installed");
        }
    }
}
