//! A machine of files and scripts.

use std::path::{Path, PathBuf};

use assisted_base::process::Tools;
use assisted_installer::{Config, Host, Installer, Intervals};
use assisted_wire::host::HostRole;
use assisted_wire::secret::Secret;
use tempfile::TempDir;

use crate::script::script;
use crate::service::{CLUSTER, HOST, INFRA_ENV};

/// Every program that an installation runs.
const PROGRAMS: [&str; 37] = [
    "vgs",
    "pvs",
    "vgremove",
    "pvremove",
    "dmsetup",
    "mdadm",
    "wipefs",
    "coreos-installer",
    "dry-installer",
    "lsblk",
    "mount",
    "umount",
    "ls",
    "efibootmgr",
    "bootlist",
    "podman",
    "ssh-keygen",
    "systemctl",
    "hostnamectl",
    "systemd-run",
    "uname",
    "growpart",
    "xfs_growfs",
    "setenforce",
    "ostree",
    "rpm-ostree",
    "fsfreeze",
    "journalctl",
    "touch",
    "cp",
    "mkdir",
    "du",
    "rsync",
    "transposefs.sh",
    "getent",
    "skopeo",
    "update-ca-trust",
];

/// What each of them does. `DIR` is the machine's root; what they are asked goes to `asked`. A file `fault` there names
/// by the beginning of its command line which one misbehaves, and how.
const SCRIPT: &str = r#"
line="${0##*/} $*"
printf '%s\n' "$line" >> DIR/asked
if [ -e DIR/fault ]; then
  how=$(head -n 1 DIR/fault); which=$(tail -n +2 DIR/fault)
  case "$line" in
    "$which"*)
      case "$how" in
        fail) echo "Error: made up" >&2; exit 7 ;;
        hang) exec sleep 1000 ;;
        garbage) head -c 3000000 /dev/urandom; head -c 3000000 /dev/urandom >&2; exit 0 ;;
        empty) exit 0 ;;
        kill) rm DIR/fault; kill -9 $PPID; exit 0 ;;
      esac ;;
  esac
fi
case "$line" in
  "coreos-installer "*) printf 'Read disk 1 MiB/8 MiB (12%%)\nRead disk 8 MiB/8 MiB (100%%)\n' >&2
     for device; do :; done; echo image > "DIR$device" ;;
  "lsblk --bytes"*) echo '{"blockdevices":[{"name":"sda","size":100000000000,"type":"disk","children":[
     {"name":"sda1","size":1048576},{"name":"sda2","size":133169152},{"name":"sda3","size":402653184},
     {"name":"sda4","size":3351232512}]}]}' ;;
  "ls -1 "*) printf 'BOOT\nredhat\n' ;;
  "efibootmgr -v -d"*) echo 'Boot0007 has same label Red Hat Enterprise Linux' ;;
  "podman run"*) mkdir -p DIR/opt/openshift/openshift DIR/opt/openshift/auth
     if [ -e DIR/kubeconfig ]; then cp DIR/kubeconfig DIR/opt/openshift/auth/kubeconfig; fi ;;
  "ssh-keygen "*) echo private > DIR/root/.ssh/id_rsa; echo 'ssh-rsa AAAA root@host' > DIR/root/.ssh/id_rsa.pub ;;
  "systemctl start bootkube.service") touch DIR/opt/openshift/.bootkube.done
     if [ -e DIR/made.ign ]; then cp DIR/made.ign DIR/opt/openshift/master.ign
     else echo '{"ignition":{"version":"3.1.0"}}' > DIR/opt/openshift/master.ign; fi ;;
  "du -sb"*) printf '21474836480\t/mnt/agentdata\n' ;;
  "rsync -ah"*) printf '  1.00G  50%%  1MB/s  0:00:01\r  2.00G 100%%  1MB/s  0:00:00\n' ;;
  "systemctl show -P ActiveState"*) echo active ;;
  "systemctl is-active progress.service") echo inactive; exit 3 ;;
  "uname -m") echo x86_64 ;;
esac
exit 0
"#;

pub(crate) struct Machine {
    pub(crate) root: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let machine = Self { root };
        let at = machine.root.path();
        for dir in [
            "dev",
            "tools",
            "proc/sys/kernel/random",
            "proc/1",
            "usr/bin",
            "var/log/containers",
            "sys/firmware/efi",
        ] {
            std::fs::create_dir_all(at.join(dir)).unwrap();
        }
        for (file, text) in [
            ("dev/sda", "old"),
            ("dev/sdb", "other"),
            ("usr/bin/oc", ""),
            ("proc/cmdline", "BOOT_IMAGE=/x ignition.platform.id=qemu quiet"),
            ("proc/sys/kernel/hostname", "node-0"),
            ("proc/sys/kernel/random/boot_id", "boot-1"),
            ("proc/1/mountinfo", ""),
        ] {
            std::fs::write(at.join(file), text).unwrap();
        }
        let text = SCRIPT.replace("DIR", &at.display().to_string());
        let first = at.join("tools/vgs");
        script(&first, &text);
        for program in PROGRAMS.iter().skip(1) {
            std::os::unix::fs::symlink(&first, at.join("tools").join(program)).unwrap();
        }
        machine
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn host(root: &Path) -> Host {
        Host::at(root, Tools::at(root.join("tools")))
    }

    pub(crate) fn installer(&self, config: Config, longest: std::time::Duration) -> Installer {
        Installer::new(config, Self::host(self.root.path()).longest_run(longest)).unwrap()
    }

    /// What the programs were asked, without what logs are made of.
    pub(crate) fn calls(&self) -> Vec<String> {
        let asked = std::fs::read_to_string(self.path("asked")).unwrap_or_default();
        asked.lines().filter(|line| !line.starts_with("journalctl")).map(str::to_owned).collect()
    }

    /// Lets a program misbehave: `fail`, `hang`, `garbage`, `empty` or `kill`, which kills whoever runs it.
    pub(crate) fn fault(&self, how: &str, command: &str) {
        std::fs::write(self.path("fault"), format!("{how}\n{command}\n")).unwrap();
    }
}

pub(crate) fn config(url: &str, role: HostRole, masters: u32) -> Config {
    Config {
        role,
        cluster_id: CLUSTER.parse().unwrap(),
        infra_env_id: INFRA_ENV.parse().unwrap(),
        host_id: Some(HOST.parse().unwrap()),
        boot_device: "/dev/sda".into(),
        url: url.to_owned(),
        openshift_version: "4.20.0".to_owned(),
        mco_image: "quay.io/mco:1".to_owned(),
        controller_image: "quay.io/controller:1".to_owned(),
        insecure: false,
        ca_file: None,
        service_ips: Vec::new(),
        control_plane_count: masters,
        check_cluster_version: true,
        must_gather_image: String::new(),
        disks_to_format: vec!["/dev/sdb".into()],
        skip_disk_cleanup: false,
        skip_mco_reboot: false,
        notify_num_reboots: false,
        approve_all_csrs: false,
        coreos_image: String::new(),
        installer_args: r#"["--append-karg","ip=dhcp"]"#.to_owned(),
        token: Secret::from("token"),
        dry_run: None,
        intervals: Intervals::faster(1_000),
    }
}
