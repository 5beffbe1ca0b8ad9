//! The partitions of a disk that is installed to, where the machine has folders for them: what an installer of image mode lays onto a
//! disk lies there, and the machine starts from it. Other machines have a disk alone.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assisted_base::process::Cmd;
use serde_json::json;

use crate::files;

/// The folders, one for each partition that has files; the machine's own, whatever system it runs.
const FOLDERS: &str = "/opt/partitions";
/// Partitions by their numbers, and the length that is told of each.
const ALL: [(u32, Option<&str>, u64); 4] =
    [(1, None, 1 << 20), (2, None, 127 << 20), (3, Some("boot"), 384 << 20), (4, Some("root"), 3 << 30)];
/// Programs of this computer.
pub const COMPUTER: &str = "/opt/computer";
/// The system that was written, before anything is laid over it.
pub const STOCK: &str = "stock.0";
pub const DEPLOYMENTS: &str = "ostree/deploy/rhcos/deploy";
const VAR: &str = "ostree/deploy/rhcos/var";

/// The folder that a partition of this machine's own disk is.
pub fn of_own_disk(name: &str) -> PathBuf {
    Path::new(FOLDERS).join(name)
}

fn has_folders() -> bool {
    Path::new(FOLDERS).is_dir()
}

/// Shows this computer's control groups to programs that build images: they end where there are none at all.
pub async fn control_groups() -> Result<()> {
    const GROUPS: &str = "/sys/fs/cgroup";
    if !has_folders() || !Path::new(GROUPS).is_dir() {
        return Ok(());
    }
    must("mount", &["-t", "cgroup2", "none", GROUPS]).await
}

/// Makes the folders anew, as a disk has them that was just written.
pub fn make() -> Result<()> {
    if !has_folders() {
        return Ok(());
    }
    for name in ALL.iter().filter_map(|(_, name, _)| *name) {
        let folder = Path::new(FOLDERS).join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
    }
    let root = Path::new(FOLDERS).join("root");
    // Where the other partition is mounted.
    for folder in ["boot", VAR, &format!("{DEPLOYMENTS}/{STOCK}/etc")] {
        std::fs::create_dir_all(root.join(folder))?;
    }
    files::write(root.join(format!("{DEPLOYMENTS}/{STOCK}.origin")), 0o644, "[origin]\n")
}

/// `lsblk`: what it tells of the disk's partitions; all else this computer's own tells.
pub async fn lsblk(args: &[&str]) -> Result<i32> {
    match args {
        ["--bytes", "--json", device] if has_folders() => {
            let name = device.strip_prefix("/dev/").context("that is no disk")?;
            let children: Vec<_> = ALL
                .iter()
                .map(|(number, _, size)| json!({"name": format!("{name}{number}"), "size": size, "type": "part"}))
                .collect();
            let disk = json!({"name": name, "size": 40_u64 << 30, "type": "disk", "children": children});
            writeln!(std::io::stdout(), "{}", json!({"blockdevices": [disk]}))?;
            Ok(0)
        }
        args => own("lsblk", args).await,
    }
}

/// The config drive, which is a folder, too.
const CONFIG_DRIVE: &str = "/dev/disk/by-label/config-2";

/// `mount`: a partition is its folder.
pub async fn mount(args: &[&str]) -> Result<i32> {
    match args {
        [device, point] if has_folders() && device.starts_with("/dev/vdx") => {
            let folder = folder(device).with_context(|| format!("{device} has no file system"))?;
            own("mount", &["--bind", &folder.display().to_string(), point]).await
        }
        ["-o", "ro", CONFIG_DRIVE, point] => own("mount", &["--bind", CONFIG_DRIVE, point]).await,
        args => own("mount", args).await,
    }
}

fn folder(device: &str) -> Option<PathBuf> {
    let number: u32 = device.strip_prefix("/dev/vdx")?.parse().ok()?;
    let (_, name, _) = ALL.iter().find(|(own, ..)| *own == number)?;
    name.map(of_own_disk)
}

/// This computer's own program of a name, with what it says.
pub async fn own(name: &str, args: &[&str]) -> Result<i32> {
    let output = Cmd::new(format!("{COMPUTER}/{name}")).args(args).run().await?;
    std::io::stdout().write_all(&output.stdout)?;
    std::io::stderr().write_all(&output.stderr)?;
    Ok(output.code())
}

/// The same, which must end well.
pub async fn must(name: &str, args: &[&str]) -> Result<()> {
    let output = Cmd::new(format!("{COMPUTER}/{name}"))
        .args(args)
        .timeout(std::time::Duration::from_secs(600))
        .cut_output()
        .run()
        .await?;
    if !output.success() {
        bail!("{name} {}: {}", args.join(" "), output.complaint());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_with_files() {
        assert_eq!(folder("/dev/vdx4"), Some(PathBuf::from("/opt/partitions/root")));
        assert_eq!(folder("/dev/vdx3"), Some(PathBuf::from("/opt/partitions/boot")));
        for device in ["/dev/vdx", "/dev/vdx2", "/dev/vdx9", "/dev/sda4"] {
            assert_eq!(folder(device), None, "{device}");
        }
    }
}
