//! Room for a build: a partition at the end of the disk that is being installed to, or memory (ocl-day1 §B5.2). It is gone when the
//! machine restarts.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use assisted_wire::on_cluster_layering::{BuildLocation, LayeringErrorCode};
use serde::Deserialize;

use super::{Failed, Machine, embedded};
use crate::config::Scratch;
use crate::paths::SCRATCH;

/// What a control plane node has in its place.
const FOLDER: &str = "/var/lib/ocl-scratch";
const LABEL: &str = "ocl-scratch";
const PARTITION: &str = "/dev/disk/by-partlabel/ocl-scratch";
/// The installer of this host writes it once the image is on the disk.
pub(super) const DISK: &str = "/run/ocl/disk.json";
const DISK_WAIT: Duration = Duration::from_secs(40 * 60);
const LOOK: Duration = Duration::from_secs(2);
/// The partition's size: half of the disk, within these.
const SMALLEST_GIB: u64 = 8;
const LARGEST_GIB: u64 = 48;
const LIMIT: Duration = Duration::from_secs(5 * 60);

#[derive(Deserialize)]
struct Disk {
    /// None where the disk is written when the build is done.
    device: Option<PathBuf>,
}

fn failed(reason: impl Into<String>) -> Failed {
    Failed::new(LayeringErrorCode::Scratch, reason)
}

/// Makes room, unless there is some already.
pub(crate) async fn prepare(
    machine: &Machine,
    wanted: Scratch,
    location: BuildLocation,
) -> Result<(), Failed> {
    if is_there(machine) {
        return folders(machine);
    }
    std::fs::create_dir_all(machine.path(SCRATCH)).map_err(|error| failed(format!("{SCRATCH}: {error}")))?;
    if location == BuildLocation::ControlPlane && wanted != Scratch::Memory {
        std::fs::create_dir_all(machine.path(FOLDER))
            .map_err(|error| failed(format!("{FOLDER}: {error}")))?;
        let args = ["--bind", &machine.name(FOLDER), &machine.name(SCRATCH)];
        machine.run(LIMIT, "mount", &args).await.map_err(failed)?;
    } else {
        match wanted {
            Scratch::Disk => partition(machine).await?,
            Scratch::Memory => memory(machine).await?,
            Scratch::Auto => {
                if let Err(error) = partition(machine).await {
                    tracing::warn!(%error, "no room on the disk: the build takes memory");
                    remove_partition(machine).await;
                    memory(machine).await?;
                }
            }
        }
    }
    folders(machine)
}

fn folders(machine: &Machine) -> Result<(), Failed> {
    for folder in ["tmp", "storage", "registry"] {
        let path = machine.path(format!("{SCRATCH}/{folder}"));
        std::fs::create_dir_all(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// Whether something is mounted there.
pub(crate) fn is_there(machine: &Machine) -> bool {
    let place = machine.name(SCRATCH);
    // The machine's own: a program in a container has others.
    let mounts = ["/proc/1/mounts", "/proc/mounts"].iter().find_map(|path| machine.read(path).ok());
    let mounts = mounts.unwrap_or_default();
    String::from_utf8_lossy(&mounts).lines().any(|line| line.split(' ').nth(1) == Some(&place))
}

async fn memory(machine: &Machine) -> Result<(), Failed> {
    let args = ["-t", "tmpfs", "-o", "size=60%,mode=0700", "ocl-scratch", &machine.name(SCRATCH)];
    machine.run(LIMIT, "mount", &args).await.map(drop).map_err(failed)
}

async fn partition(machine: &Machine) -> Result<(), Failed> {
    let device = disk(machine).await?;
    let device = device.to_str().ok_or_else(|| failed("the disk has an odd name"))?;
    // One of an earlier attempt: what is on it is of no use.
    remove_partition(machine).await;
    let run = async |program: &str, args: &[&str]| machine.run(LIMIT, program, args).await.map_err(failed);
    let size = run("lsblk", &["--bytes", "--nodeps", "--noheadings", "--output", "SIZE", device]).await?;
    let size: u64 =
        size.trim().parse().map_err(|_| failed(format!("the size of {device} is not known: {size:?}")))?;
    let gib = (size >> 31).clamp(SMALLEST_GIB, LARGEST_GIB);
    // The image was written by length: its second partition table stands where the image ends.
    run("sgdisk", &["--move-second-header", device]).await?;
    let new = format!("--new=0:-{gib}G:0");
    let name = format!("--change-name=0:{LABEL}");
    run("sgdisk", &[&new, &name, "--typecode=0:8300", device]).await?;
    run("partprobe", &[device]).await?;
    run("udevadm", &["settle", "--timeout=60"]).await?;
    let partition = machine.name(PARTITION);
    run("mkfs.xfs", &["-f", "-q", &partition]).await?;
    let mut args = Vec::new();
    if machine.exists("/sys/fs/selinux/enforce") {
        args.extend(["-o", "context=system_u:object_r:container_var_lib_t:s0"]);
    }
    let place = machine.name(SCRATCH);
    args.extend([partition.as_str(), place.as_str()]);
    run("mount", &args).await.map(drop)
}

/// The disk that is installed to, once the image is on it.
async fn disk(machine: &Machine) -> Result<PathBuf, Failed> {
    let wait = async {
        loop {
            match machine.read(DISK) {
                Ok(bytes) => {
                    break serde_json::from_slice::<Disk>(&bytes)
                        .map_err(|error| failed(format!("{DISK}: {error}")));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => machine.sleep(LOOK).await,
                Err(error) => break Err(failed(format!("{DISK}: {error}"))),
            }
        }
    };
    let limit = machine.pace(DISK_WAIT);
    let found = tokio::time::timeout(limit, wait).await;
    let none =
        || failed(format!("the image was not on the disk within {} minutes", DISK_WAIT.as_secs() / 60));
    let device = found.map_err(|_| none())??.device;
    let device = device.ok_or_else(|| failed("this host's disk is written after the build"))?;
    // It becomes an argument of programs that change disks.
    match device.starts_with("/dev") && !device.components().any(|part| part.as_os_str() == "..") {
        true => Ok(device),
        false => Err(failed(format!("{DISK}: {} is no disk", device.display()))),
    }
}

/// Gives the room back, and ends what works there. What fails is logged: the machine goes on, and the next installation of this disk
/// takes the partition away with all others.
pub async fn remove(machine: &Machine) {
    embedded::stop(machine).await;
    if is_there(machine) {
        let place = machine.name(SCRATCH);
        // Storage drivers may have mounts of their own below it.
        for args in [&["--recursive", place.as_str()][..], &["--recursive", "--lazy", place.as_str()]] {
            match machine.run(LIMIT, "umount", args).await {
                Ok(_) => break,
                Err(error) => tracing::warn!(error, "the scratch stays mounted"),
            }
        }
    }
    let folder = machine.path(FOLDER);
    if let Err(error) = std::fs::remove_dir_all(&folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, folder = %folder.display(), "stays");
    }
    remove_partition(machine).await;
    let _ = std::fs::remove_dir_all(machine.path("/run/ocl/auth"));
}

/// Takes the partition off its disk, if there is one.
async fn remove_partition(machine: &Machine) {
    let Some((disk, number)) = find(machine) else { return };
    for (program, args) in
        [("sgdisk", vec![format!("--delete={number}"), disk.clone()]), ("partprobe", vec![disk])]
    {
        if let Err(error) = machine.run(LIMIT, program, &args).await {
            tracing::warn!(error, "the scratch's partition may still be there");
        }
    }
}

/// The disk of the scratch's partition, and its number there: as the kernel tells it.
fn find(machine: &Machine) -> Option<(String, u32)> {
    let partition = std::fs::canonicalize(machine.path(PARTITION)).ok()?;
    let name = partition.file_name()?.to_str()?;
    let class = format!("/sys/class/block/{name}");
    let number = machine.read(&format!("{class}/partition")).ok()?;
    let number = String::from_utf8(number).ok()?.trim().parse().ok()?;
    let own = std::fs::canonicalize(machine.path(&class)).ok()?;
    let disk = own.parent()?.file_name()?.to_str()?;
    Some((machine.name(&format!("/dev/{disk}")), number))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use assisted_base::process::Tools;

    use super::*;
    use crate::builder::tests::scripted;

    fn machine_with_disk() -> (tempfile::TempDir, Machine) {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(
            dir.path(),
            r#"case "$line" in
              lsblk*) echo 128849018880 ;;
              mount*) for place; do :; done; echo "x $place xfs rw 0 0" >> DIR/proc/mounts ;;
              umount*) : > DIR/proc/mounts ;;
              "sgdisk --new"*) ln -sf ../../sda5 DIR/dev/disk/by-partlabel/ocl-scratch ;;
              "sgdisk --delete"*) rm DIR/dev/disk/by-partlabel/ocl-scratch ;;
            esac"#,
        );
        let at = |path: &str| dir.path().join(path);
        for folder in ["dev/disk/by-partlabel", "sys/devices/pci/sda/sda5", "sys/class/block", "proc"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("sys/devices/pci/sda/sda5/partition"), "5\n").unwrap();
        symlink("../../devices/pci/sda/sda5", at("sys/class/block/sda5")).unwrap();
        std::fs::write(at("dev/sda5"), "").unwrap();
        std::fs::write(at("proc/mounts"), "").unwrap();
        (dir, machine)
    }

    fn asked(dir: &tempfile::TempDir) -> Vec<String> {
        let text = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        text.lines().map(|line| line.replace(&dir.path().display().to_string(), "")).collect()
    }

    #[tokio::test]
    async fn a_partition_comes_and_goes() {
        let (dir, machine) = machine_with_disk();
        machine.write(DISK, 0o600, r#"{"device":"/dev/sda"}"#).unwrap();
        prepare(&machine, Scratch::Disk, BuildLocation::Bootstrap).await.unwrap();
        // A second time there is nothing to do.
        prepare(&machine, Scratch::Disk, BuildLocation::Bootstrap).await.unwrap();
        assert!(is_there(&machine) && machine.exists("/var/ocl-scratch/storage"));
        remove(&machine).await;
        assert!(!is_there(&machine) && find(&machine).is_none());
        let asked = asked(&dir);
        let place = |begin: &str| {
            asked
                .iter()
                .position(|line| line.starts_with(begin))
                .unwrap_or_else(|| panic!("{begin}: {asked:#?}"))
        };
        let order = [
            "sgdisk --move-second-header /dev/sda",
            "sgdisk --new=0:-48G:0 --change-name=0:ocl-scratch --typecode=0:8300 /dev/sda",
            "mkfs.xfs -f -q /dev/disk/by-partlabel/ocl-scratch",
            "mount /dev/disk/by-partlabel/ocl-scratch /var/ocl-scratch",
            "podman rm --force --ignore --time=5 ocl-registry",
            "umount --recursive /var/ocl-scratch",
            "sgdisk --delete=5 /dev/sda",
        ];
        assert!(order.map(place).is_sorted(), "{asked:#?}");
        assert_eq!(asked.iter().filter(|line| line.starts_with("mkfs")).count(), 1);
    }

    #[tokio::test]
    async fn without_room_on_the_disk_memory_serves() {
        let (dir, machine) = machine_with_disk();
        let machine = machine.faster(10_000);
        // There is no disk: nobody has told of one.
        let error = prepare(&machine, Scratch::Disk, BuildLocation::Bootstrap).await.unwrap_err();
        assert_eq!((error.code, error.retriable), (LayeringErrorCode::Scratch, false));
        machine.write(DISK, 0o600, r#"{"device":"/dev/../etc/passwd"}"#).unwrap();
        assert!(prepare(&machine, Scratch::Disk, BuildLocation::Bootstrap).await.is_err());
        prepare(&machine, Scratch::Auto, BuildLocation::Bootstrap).await.unwrap();
        assert!(asked(&dir).iter().any(|line| line.starts_with("mount -t tmpfs")));
        let (dir, machine) = machine_with_disk();
        prepare(&machine, Scratch::Auto, BuildLocation::ControlPlane).await.unwrap();
        assert!(asked(&dir).iter().any(|line| line == "mount --bind /var/lib/ocl-scratch /var/ocl-scratch"));
        remove(&machine).await;
        assert!(!machine.exists(FOLDER));
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        let dir = tempfile::tempdir().unwrap();
        assert!(find(&Machine::at(dir.path(), Tools::default())).is_none());
    }
}
