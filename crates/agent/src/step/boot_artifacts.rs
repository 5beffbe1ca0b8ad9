//! Steps `download-boot-artifacts` and `reboot-for-reclaim`: an installed node boots back into discovery
//! (agent-protocol §2.4.16). Kernel, initrd and a boot entry are laid into the node's boot partition, and the node is
//! restarted.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::http;
use assisted_base::process::Tools;
use assisted_base::retry::{Attempts, Backoff};
use assisted_wire::probe_requests::{DownloadBootArtifactsRequest, RebootForReclaimRequest};
use tokio::io::AsyncWriteExt;
use tracing::warn;

use super::{ended, only_arg};
use crate::config::Config;
use crate::reply::Outcome;
use crate::task::blocking;

const TRIES: u32 = 5;
/// Pause between tries; the limit of the step allows for all of them.
pub(crate) const PAUSE: Duration = Duration::from_secs(60);
pub(crate) const LIMIT: Duration = Duration::from_secs(3_600);
/// An initrd with everything in it is a few hundred megabytes.
const LONGEST: u64 = 2 << 30;
const ENTRY: &str = "00-assisted-discovery.conf";
const DONE: &str = "Successfully downloaded boot artifacts";
/// What the new kernel on these mainframes needs of the running one's command line, the first of each.
const Z_PARAMETERS: [&str; 6] = ["ip", "nameserver", "rd.znet", "zfcp.allow_lun_scan", "rd.zfcp", "rd.dasd"];

/// Why the artifacts aren't there.
#[derive(Debug, thiserror::Error)]
enum BootArtifactsError {
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("{url}: {reason}")]
    Download { url: String, reason: String },
    #[error("the boot partition has {free} bytes left, {needed} are needed")]
    Full { free: u64, needed: u64 },
}

fn io_fault(what: &Path) -> impl FnOnce(io::Error) -> BootArtifactsError + use<> {
    let what = what.display().to_string();
    move |source| BootArtifactsError::Io { what, source }
}

/// The node's root as this program sees it.
struct Node {
    root: PathBuf,
}

impl Node {
    fn new(dir: &str) -> Result<Self, Outcome> {
        let root = PathBuf::from(dir);
        let plain = root.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        if root.is_absolute() && plain && root.is_dir() {
            Ok(Self { root })
        } else {
            Err(Outcome::failed("host_fs_mount_dir is no directory"))
        }
    }

    fn boot(&self) -> PathBuf {
        self.root.join("boot")
    }

    fn discovery(&self) -> PathBuf {
        self.boot().join("discovery")
    }

    fn entry(&self) -> PathBuf {
        self.boot().join("loader/entries").join(ENTRY)
    }
}

pub(super) async fn download(
    args: &[String],
    tools: &Tools,
    service: Option<&Config>,
    pause: Duration,
) -> Outcome {
    let request: DownloadBootArtifactsRequest = match only_arg("download boot artifacts", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    let node = match Node::new(&request.host_fs_mount_dir) {
        Ok(node) => node,
        Err(outcome) => return outcome,
    };
    for url in [&request.kernel_url, &request.initrd_url, &request.rootfs_url] {
        // The last one gets into a file of the boot loader, where quotes and line ends would say something else.
        if http::web_url(url).is_err()
            || url.contains(['\'', '"', '\\', ' '])
            || url.contains(char::is_control)
        {
            return Outcome::failed("download boot artifacts: an address is none of a web server");
        }
    }
    let ca = match service.and_then(|service| service.ca_file.as_deref()).map(fs::read).transpose() {
        Ok(ca) => ca,
        Err(error) => return Outcome::failed(format!("download boot artifacts: CA file: {error}")),
    };
    match place_files(&request, &node, tools, ca, pause).await {
        Ok(()) => Outcome::done(DONE.to_owned()),
        Err(fault) => Outcome::failed(format!("download boot artifacts: {fault}")),
    }
}

async fn place_files(
    request: &DownloadBootArtifactsRequest,
    node: &Node,
    tools: &Tools,
    ca: Option<Vec<u8>>,
    pause: Duration,
) -> Result<(), BootArtifactsError> {
    let (kernel, initrd) = (node.discovery().join("vmlinuz"), node.discovery().join("initrd"));
    if [&kernel, &initrd, &node.entry()].iter().all(|path| path.exists()) {
        return Ok(());
    }
    let boot = node.boot();
    if let Err(error) = rustix::mount::mount_remount(&boot, rustix::mount::MountFlags::empty(), "") {
        // It may be writable already, or no mount of its own; the writes below show it.
        warn!(%error, path = %boot.display(), "not remounted");
    }
    let work = tempfile::tempdir()
        .map_err(|source| BootArtifactsError::Io { what: "temporary directory".into(), source })?;
    let backoff = Backoff::constant(pause);
    let entries = node.boot().join("loader/entries");
    for dir in [node.discovery(), entries] {
        let mut attempts = Attempts::new(TRIES, backoff);
        while let Err(fault) = fs::create_dir_all(&dir).map_err(io_fault(&dir)) {
            attempts.again(fault).await?;
        }
    }
    let client = http::client(crate::USER_AGENT, ca.as_deref()).map_err(|error| {
        BootArtifactsError::Download { url: request.kernel_url.clone(), reason: error.to_string() }
    })?;
    let mut files = vec![(write_entry(work.path(), &request.rootfs_url)?, node.entry())];
    for (url, name, target) in
        [(&request.kernel_url, "vmlinuz", kernel), (&request.initrd_url, "initrd", initrd)]
    {
        let path = work.path().join(name);
        let mut attempts = Attempts::new(TRIES, backoff);
        while let Err(fault) = fetch(&client, url, &path).await {
            attempts.again(fault).await?;
        }
        files.push((path, target));
    }
    make_room(&files, &boot, tools).await?;
    blocking(move || files.iter().try_for_each(|(from, to)| install(from, to).map_err(io_fault(to)))).await
}

async fn fetch(client: &reqwest::Client, url: &str, path: &Path) -> Result<(), BootArtifactsError> {
    let fault = |reason: String| BootArtifactsError::Download { url: url.to_owned(), reason };
    let mut answer = client.get(url).send().await.map_err(|error| fault(error.to_string()))?;
    if answer.status().as_u16() != 200 {
        return Err(fault(format!("status {}", answer.status().as_u16())));
    }
    let mut file = tokio::fs::File::create(path).await.map_err(io_fault(path))?;
    let mut length = 0;
    while let Some(chunk) = answer.chunk().await.map_err(|error| fault(error.to_string()))? {
        length += chunk.len() as u64;
        if length > LONGEST {
            return Err(fault(format!("longer than {LONGEST} bytes")));
        }
        file.write_all(&chunk).await.map_err(io_fault(path))?;
    }
    file.flush().await.map_err(io_fault(path))
}

fn write_entry(work: &Path, rootfs: &str) -> Result<PathBuf, BootArtifactsError> {
    let common = "random.trust_cpu=on ignition.firstboot ignition.platform.id=metal";
    let options = if std::env::consts::ARCH == "s390x" {
        format!("{common} ai.ip_cfg_override=1 coreos.live.rootfs_url={rootfs}")
    } else {
        format!("{common} 'coreos.live.rootfs_url={rootfs}'")
    };
    let text = format!(
        "title Assisted Installer Discovery\nversion 999\noptions {options}\n\
         linux /boot/discovery/vmlinuz\ninitrd /boot/discovery/initrd\n"
    );
    let path = work.join(ENTRY);
    fs::write(&path, text).map_err(io_fault(&path))?;
    Ok(path)
}

/// Where there is no room the node's previous system is given up.
async fn make_room(
    files: &[(PathBuf, PathBuf)],
    boot: &Path,
    tools: &Tools,
) -> Result<(), BootArtifactsError> {
    let mut needed = 0;
    for (path, _) in files {
        needed += fs::metadata(path).map_err(io_fault(path))?.len();
    }
    let free = || -> Result<u64, BootArtifactsError> {
        let found = rustix::fs::statvfs(boot).map_err(|error| io_fault(boot)(error.into()))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    };
    if free()? > needed {
        return Ok(());
    }
    let cleanup = tools.cmd("rpm-ostree").args(["cleanup", "--os=rhcos", "-r"]);
    match cleanup.timeout(Duration::from_secs(600)).run().await {
        Ok(done) if done.success() => {}
        Ok(done) => warn!(code = done.code(), error = done.complaint(), "no room made"),
        Err(error) => warn!(%error, "no room made"),
    }
    let free = free()?;
    if free > needed { Ok(()) } else { Err(BootArtifactsError::Full { free, needed }) }
}

/// Whole or not at all: the boot loader must never find half a kernel.
fn install(from: &Path, to: &Path) -> io::Result<()> {
    let new = to.with_extension("new");
    let mut target = fs::File::create(&new)?;
    io::copy(&mut fs::File::open(from)?, &mut target)?;
    target.set_permissions(fs::Permissions::from_mode(0o644))?;
    target.sync_all()?;
    fs::rename(&new, to)?;
    let dir = to.parent().unwrap_or(Path::new("/"));
    fs::File::open(dir)?.sync_all()
}

pub(super) async fn reboot(args: &[String], tools: &Tools) -> Outcome {
    let request: RebootForReclaimRequest = match only_arg("reboot for reclaim", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    let node = match Node::new(&request.host_fs_mount_dir) {
        Ok(node) => node,
        Err(outcome) => return outcome,
    };
    let inside = || tools.own("chroot").arg(&node.root);
    if std::env::consts::ARCH == "s390x" {
        let parameters = match z_parameters(&node) {
            Ok(parameters) => parameters,
            Err(fault) => return Outcome::failed(format!("reboot for reclaim: {fault}")),
        };
        let boot = node.boot();
        let writable = rustix::mount::MountFlags::empty();
        if let Err(error) = rustix::mount::mount_remount(&boot, writable, "") {
            warn!(%error, path = %boot.display(), "not remounted");
        }
        let zipl = inside().args(["zipl", "--target", "/boot", "--image", "/boot/discovery/vmlinuz"]);
        let zipl = zipl.args(["--ramdisk", "/boot/discovery/initrd", "--parameters"]).arg(parameters);
        let written = ended(zipl.timeout(Duration::from_secs(300)).run().await);
        if written.exit_code != 0 {
            return written;
        }
    }
    ended(inside().args(["systemctl", "reboot"]).run().await)
}

/// The entry's options, and what the running kernel was told about network and disks.
fn z_parameters(node: &Node) -> Result<String, BootArtifactsError> {
    let path = node.entry();
    let entry = fs::read_to_string(&path).map_err(io_fault(&path))?;
    let line = Path::new("/proc/cmdline");
    let running = fs::read_to_string(line).map_err(io_fault(line))?;
    Ok(z_options(&entry, &running))
}

fn z_options(entry: &str, running: &str) -> String {
    let options = entry.lines().find_map(|line| line.strip_prefix("options ")).unwrap_or_default();
    let kept = Z_PARAMETERS.iter().filter_map(|name| {
        running.split_whitespace().find(|word| word.split_once('=').is_some_and(|(key, _)| key == *name))
    });
    std::iter::once(options).chain(kept).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mainframes_keep_their_network_and_disks() {
        let entry = "title x\noptions a=b 'c'\nlinux /x\n";
        let running = "quiet rd.dasd=0.0.1 ip=10.0.0.1::x ip=second rd.znet=qeth root=/dev/x\n";
        assert_eq!(z_options(entry, running), "a=b 'c' ip=10.0.0.1::x rd.znet=qeth rd.dasd=0.0.1");
    }
}
