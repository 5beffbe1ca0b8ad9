//! Making the disk what the firmware boots first (installer-and-controller §A14).

use std::path::Path;

use tracing::warn;

use super::partition::{EFI, PartitionError, Partitions};
use crate::attempts::{Exhausted, attempts};
use crate::config::Intervals;
use crate::host::{Host, RunError};

const LABEL: &str = "Red Hat Enterprise Linux";
/// Folders of boot loaders that are known; the first that is there counts.
const VENDORS: [&str; 2] = ["redhat", "centos"];
const LOOKS: u32 = 4;
const MOUNTS: u32 = 3;
const PAUSE: u64 = 5;

/// Why the boot order stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum BootOrderError {
    #[error(transparent)]
    Partition(#[from] PartitionError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Mount(#[from] Exhausted<RunError>),
    #[error("failed to find efi boot entry directory")]
    NoLoader,
}

/// Puts the disk first. A machine that boots by its BIOS has nothing to be set.
///
/// # Errors
/// When the disk has no known boot loader, or the firmware can't be told.
pub async fn set_boot_order(device: &Path, host: &Host, intervals: Intervals) -> Result<(), BootOrderError> {
    let disk = device.display().to_string();
    if host.exists("/usr/sbin/bootlist") {
        if let Err(error) = host.run("bootlist", &["-m", "normal", "-o", &disk]).await {
            warn!(%error, "can't set the list of boot devices");
        }
        return Ok(());
    }
    if !host.exists("/sys/firmware/efi") {
        return Ok(());
    }
    let mut looks = 1;
    let vendor = loop {
        match vendor(device, host, intervals).await {
            Ok(vendor) => break vendor,
            Err(error) if looks >= LOOKS => return Err(error),
            Err(error) => warn!(%error, "looking again for the boot loader"),
        }
        looks += 1;
        intervals.pause(PAUSE).await;
    };
    let loader = if cfg!(target_arch = "aarch64") { "shimaa64.efi" } else { "shimx64.efi" };
    let loader = format!("\\EFI\\{vendor}\\{loader}");
    let create = ["-v", "-d", &disk, "-p", "2", "-c", "-L", LABEL, "-l", &loader];
    let told = host.run("efibootmgr", &create).await?;
    for number in same_label(&told) {
        let delete = ["-v", "--delete-bootnum", "--bootnum", number, "-l", &loader];
        if let Err(error) = host.run("efibootmgr", &delete).await {
            warn!(%error, "an older entry stays");
        }
    }
    if let Err(error) = host.run("efibootmgr", &["-l", &loader]).await {
        warn!(%error, "can't read the boot order back");
    }
    Ok(())
}

/// The folder of the boot loader on the disk's EFI system partition.
async fn vendor(device: &Path, host: &Host, intervals: Intervals) -> Result<&'static str, BootOrderError> {
    let partition = Partitions::of(device, host).await?.path(EFI)?;
    let args = [partition.as_os_str(), "/mnt".as_ref()];
    attempts(MOUNTS, PAUSE, intervals, async || host.run("mount", &args).await).await?;
    let listed = host.run("ls", &["-1", "/mnt/EFI"]).await;
    if let Err(error) = host.run("umount", &["/mnt"]).await {
        warn!(%error, "stays mounted");
    }
    let listed = listed?;
    let known = VENDORS.into_iter().find(|vendor| listed.lines().any(|line| line.trim() == *vendor));
    known.ok_or(BootOrderError::NoLoader)
}

/// Numbers of older entries, as the tool complains about them: `Boot0003 has same label Red Hat Enterprise Linux`.
fn same_label(told: &str) -> impl Iterator<Item = &str> {
    told.lines().filter_map(|line| {
        let (before, after) = line.split_once(" has same label ")?;
        let (_, number) = before.rsplit_once("Boot")?;
        let hex = number.len() == 4 && number.bytes().all(|digit| digit.is_ascii_hexdigit());
        (hex && after.trim() == LABEL).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_entries_are_recognised() {
        let told = "BootCurrent: 0001\n** Warning ** : Boot0003 has same label Red Hat Enterprise Linux\n\
                    Boot000A has same label Red Hat Enterprise Linux \nBoot; has same label Red Hat Enterprise Linux\n\
                    Boot0004 has same label Windows\n";
        assert_eq!(same_label(told).collect::<Vec<_>>(), ["0003", "000A"]);
    }
}
