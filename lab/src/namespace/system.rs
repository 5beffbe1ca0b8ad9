//! A machine's root folder, what lays an Ignition config onto it, and how a program runs in it.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use assisted_lab_kinds::Outcomes;
use assisted_lab_tools::kubernetes::FEWER_COLLECTIONS;
use uuid::Uuid;

use super::programs::{COMPUTER, KUBERNETES, LAB};
use super::{Medium, NamespaceError, Spec, answer, containers, hardware};
use crate::network::{self, GATEWAY};

/// Debian's Ignition, where its initramfs module keeps it.
pub const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";
const FOLDERS: &[&str] = &[
    "etc/selinux",
    "etc/systemd/system",
    "etc/systemd/system-preset",
    "usr/bin",
    "usr/local",
    "var/usrlocal/bin",
    "var/lib/chrony",
    "var/log",
    "var/tmp",
    "mnt",
    "opt",
    "tmp",
    "run/chrony",
    "root",
    "home/core",
    "dev",
    "proc",
    "sys",
];
const LINKS: &[(&str, &str)] = &[
    ("bin", "usr/bin"),
    ("sbin", "usr/sbin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("var/run", "../run"),
];
/// The user whom Ignition lets in.
const CORE: u32 = 1000;
const FILES: &[(&str, &str)] = &[
    ("etc/passwd", "root:x:0:0:root:/root:/bin/bash\ncore:x:1000:1000::/home/core:/bin/bash\n"),
    ("etc/group", "root:x:0:\nsudo:x:27:\ncore:x:1000:\n"),
    ("etc/shadow", "root:*:1::::::\ncore:*:1::::::\n"),
    ("etc/gshadow", "root:*::\nsudo:*::\ncore:*::\n"),
    ("etc/hosts", "127.0.0.1 localhost\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ("etc/os-release", "ID=lab\nPRETTY_NAME=\"Lab\"\n"),
    ("etc/selinux/config", "SELINUX=disabled\nSELINUXTYPE=none\n"),
    ("etc/chrony.conf", "driftfile /var/lib/chrony/drift\nmakestep 1.0 3\n"),
    (
        "etc/systemd/system/chronyd.service",
        "[Unit]\nDescription=The time, which it tells and leaves as it is\n[Service]\n\
         ExecStart=/usr/sbin/chronyd -d -x -u root -f /etc/chrony.conf\nRestart=on-failure\nRestartSec=1\n",
    ),
    (
        "etc/systemd/system/NetworkManager.service",
        "[Unit]\nDescription=Stand-in: the lab gives the machine its address\n[Service]\nType=oneshot\nRemainAfterExit=yes\n\
         ExecStart=/usr/bin/true\n",
    ),
    ("etc/systemd/system-preset/10-lab.preset", "enable NetworkManager.service\nenable chronyd.service\n"),
];

/// The machine's disk. Its mounts are this computer's, whose own disk must not have that name.
const DISK: &str = "/dev/vdx";

/// Where a machine has its config drive, and by which label it finds it.
const CONFIG_DRIVE: (&str, &str) = ("/opt/config-drive", "/dev/disk/by-label/config-2");
/// Where a machine has the authorities that its system trusts.
const AUTHORITIES: &str = "/etc/lab-authorities.pem";
/// A machine that nobody has named.
const UNNAMED: &str = "localhost";

/// The root folders of a machine, and what is done with them.
pub(super) struct System {
    pub(super) spec: Spec,
    pub(super) dir: PathBuf,
}

impl System {
    pub(super) fn new(dir: &Path, spec: &Spec) -> Result<Self, NamespaceError> {
        if !Path::new(IGNITION).is_file() {
            return Err(NamespaceError::Missing { what: IGNITION.to_owned() });
        }
        let system = Self { spec: spec.clone(), dir: dir.to_owned() };
        hardware::describe(&system.dir.join("sys"), spec)?;
        if spec.image_mode {
            let groups = system.dir.join("sys/fs/cgroup");
            std::fs::create_dir_all(&groups).map_err(NamespaceError::io(&groups))?;
        }
        Ok(system)
    }

    /// The folder of the system on the disk, or of that in memory.
    pub(super) fn root(&self, from_disk: bool) -> PathBuf {
        self.dir.join(if from_disk { "root" } else { "live" })
    }

    /// Makes a root folder as no Ignition has touched it. That of an earlier start stays beside it, as `live.before`.
    pub(super) fn make(&self, root: &Path) -> Result<(), NamespaceError> {
        if root.exists() {
            // A system in memory would be gone; somebody may want to read its logs.
            let before = root.with_extension("before");
            if before.exists() {
                std::fs::remove_dir_all(&before).map_err(NamespaceError::io(&before))?;
            }
            std::fs::rename(root, &before).map_err(NamespaceError::io(root))?;
        }
        for folder in FOLDERS {
            let path = root.join(folder);
            std::fs::create_dir_all(&path).map_err(NamespaceError::io(&path))?;
        }
        // Chrony opens its socket in a folder of its own alone.
        let own = root.join("run/chrony");
        std::fs::set_permissions(&own, Permissions::from_mode(0o750)).map_err(NamespaceError::io(&own))?;
        for (name, to) in LINKS {
            let path = root.join(name);
            symlink(to, &path).map_err(NamespaceError::io(&path))?;
        }
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::write(&path, text).map_err(NamespaceError::io(&path))
        };
        for (name, text) in FILES {
            write(name, text)?;
        }
        if self.spec.image_mode {
            for (name, text) in containers::FILES {
                let path = root.join(name);
                let folder = path.parent().unwrap_or(root);
                std::fs::create_dir_all(folder).map_err(NamespaceError::io(folder))?;
                write(name, text)?;
            }
        }
        write("etc/resolv.conf", &format!("nameserver {GATEWAY}\n"))?;
        write("etc/machine-id", &format!("{}\n", self.spec.uuid.simple()))?;
        let home = root.join("home/core");
        chown(&home, Some(CORE), Some(CORE)).map_err(NamespaceError::io(&home))
    }

    /// The config that the image in the drive carries, or that the infrastructure gives.
    pub(super) fn of_medium(&self) -> Result<Vec<u8>, NamespaceError> {
        let image = match &self.spec.medium {
            Medium::Image(image) => image,
            Medium::UserData { config, .. } => {
                return std::fs::read(config).map_err(NamespaceError::io(config));
            }
        };
        let program = &self.spec.programs.coreos_installer;
        let mut command = Command::new(program);
        command.args(["iso", "ignition", "show"]).arg(image);
        answer(&mut command, "coreos-installer iso ignition show")
    }

    /// A stage of Ignition over a root folder, in the machine's network.
    pub(super) fn ignition(
        &self,
        namespace: &str,
        root: &Path,
        stage: &str,
        config: &[u8],
    ) -> Result<Command, NamespaceError> {
        let state = self.dir.join("ignition");
        std::fs::create_dir_all(&state).map_err(NamespaceError::io(&state))?;
        let given = state.join("config.ign");
        std::fs::write(&given, config).map_err(NamespaceError::io(&given))?;
        let mut sandbox = Sandbox::new();
        sandbox.add([
            "--tmpfs",
            "/",
            "--ro-bind",
            "/usr/bin",
            "/usr/bin",
            "--ro-bind",
            "/usr/lib",
            "/usr/lib",
        ]);
        sandbox.add(["--ro-bind", "/usr/lib64", "/usr/lib64"]);
        for program in ["/usr/sbin/useradd", "/usr/sbin/usermod", "/usr/sbin/groupadd"] {
            sandbox.add(["--ro-bind", program, program]);
        }
        // Ignition has files labelled, whether SELinux is there or not.
        let labels = state.join("setfiles");
        std::fs::write(&labels, "#!/bin/sh\ncat >/dev/null\n").map_err(NamespaceError::io(&labels))?;
        std::fs::set_permissions(&labels, Permissions::from_mode(0o755))
            .map_err(NamespaceError::io(&labels))?;
        sandbox.bind("--ro-bind", &labels, "/usr/sbin/setfiles");
        for (name, to) in LINKS.iter().filter(|(_, to)| to.starts_with("usr/")) {
            sandbox.add(["--symlink", to, &format!("/{name}")]);
        }
        sandbox.bind("--ro-bind", &root.join("etc"), "/etc");
        sandbox.bind("--bind", root, "/sysroot");
        sandbox.add(["--ro-bind", "/usr", "/sysroot/usr"]);
        sandbox.bind("--bind", &root.join("var/usrlocal"), "/sysroot/usr/local");
        sandbox.bind("--bind", &state, "/run/ignition");
        sandbox.add(["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp", "--clearenv"]);
        sandbox.add(["--setenv", "PATH", "/usr/sbin:/usr/bin"]);
        sandbox.add(["--setenv", "IGNITION_CONFIG_FILE", "/run/ignition/config.ign", "--", IGNITION]);
        sandbox.add(["--platform=file", "--root=/sysroot", "--log-to-stdout", &format!("--stage={stage}")]);
        sandbox.add(["--config-cache=/run/ignition/cache.json", "--state-file=/run/ignition/state.json"]);
        Ok(sandbox.command(namespace))
    }

    /// The machine's first program.
    pub(super) fn command(
        &self,
        namespace: &str,
        root: &Path,
        disk: &Path,
    ) -> Result<Command, NamespaceError> {
        let boot = self.dir.join("boot-id");
        std::fs::write(&boot, format!("{}\n", Uuid::new_v4())).map_err(NamespaceError::io(&boot))?;
        let name = std::fs::read_to_string(root.join("etc/hostname"));
        let name = name.unwrap_or_else(|_| match self.spec.medium {
            Medium::Image(_) => self.spec.name.clone(),
            Medium::UserData { .. } => UNNAMED.to_owned(),
        });
        let programs = &self.spec.programs;
        let mut sandbox = Sandbox::new();
        sandbox.add(["--unshare-pid", "--unshare-uts", "--unshare-ipc", "--hostname", name.trim()]);
        sandbox.bind("--bind", root, "/");
        let usr = Path::new("/usr");
        for entry in std::fs::read_dir(usr).map_err(NamespaceError::io(usr))?.flatten() {
            if !matches!(entry.file_name().to_str(), None | Some("bin" | "local")) {
                sandbox.bind("--ro-bind", &entry.path(), entry.path());
            }
        }
        sandbox.bind("--ro-bind", &programs.bin(), "/usr/bin");
        sandbox.bind("--bind", &root.join("var/usrlocal"), "/usr/local");
        sandbox.add(["--ro-bind", "/usr/bin", COMPUTER]);
        sandbox.bind("--ro-bind", &programs.lab, LAB);
        sandbox.bind("--ro-bind", &programs.kubernetes, KUBERNETES);
        for folder in ["/etc/ssl", "/etc/alternatives"] {
            sandbox.add(["--ro-bind", folder, folder]);
        }
        sandbox.add(["--proc", "/proc", "--dev", "/dev"]);
        sandbox.bind("--dev-bind", disk, DISK);
        sandbox.bind("--ro-bind", &self.dir.join("sys"), "/sys");
        sandbox.bind("--ro-bind", &boot, "/proc/sys/kernel/random/boot_id");
        if let Medium::UserData { drive, .. } = &self.spec.medium {
            sandbox.bind("--ro-bind", drive, CONFIG_DRIVE.0);
            sandbox.add(["--symlink", CONFIG_DRIVE.0, CONFIG_DRIVE.1]);
        }
        for (how, from, to) in self.of_image(root)? {
            sandbox.bind(how, &from, to);
        }
        sandbox.add(["--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/usr/sbin"]);
        sandbox.add(["--setenv", "HOME", "/root", "--setenv", "LAB_PROGRAMS", "direct"]);
        sandbox.add(["--setenv", "LAB_APPROVES", "first-master"]);
        if let Some(authorities) = &self.spec.authorities {
            sandbox.bind("--ro-bind", authorities, AUTHORITIES);
            sandbox.add(["--setenv", "SSL_CERT_FILE", AUTHORITIES]);
        }
        for (name, value) in FEWER_COLLECTIONS {
            sandbox.add(["--setenv", name, value]);
        }
        sandbox.add(["--setenv", Outcomes::VARIABLE, &self.spec.outcomes.to_string()]);
        sandbox.add(["--chdir", "/", "--", "/usr/bin/lab-init"]);
        Ok(sandbox.command(namespace))
    }
}

/// Options of bubblewrap.
struct Sandbox(Vec<OsString>);

impl Sandbox {
    fn new() -> Self {
        Self(vec!["--die-with-parent".into()])
    }

    fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.0.extend(words.into_iter().map(OsString::from));
    }

    fn bind(&mut self, how: &str, from: &Path, to: impl AsRef<Path>) {
        self.0.extend([how.into(), from.into(), to.as_ref().into()]);
    }

    fn command(self, namespace: &str) -> Command {
        let mut command = network::inside(namespace, "bwrap");
        command.args(self.0);
        command
    }
}
