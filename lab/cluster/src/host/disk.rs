//! `coreos-installer install`: writes a disk from which the machine starts, with the Ignition config that its first start
//! applies.
//!
//! The disk begins with a partition table, so that others see that it is not empty, and is written to its end last: a machine
//! that is reset in the middle does not start from it. Where the partition begins stands the config, behind its length.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_ignition_spec::Config;
use tokio::time::sleep;

use super::partitions;
use crate::files;

const SECTOR: usize = 512;
/// Where the partition begins, in sectors.
const BEGIN: u32 = 2048;
/// What is written in all, in bytes, and in how many pieces.
const LENGTH: usize = 80 << 20;
const PIECES: usize = 40;
/// A disk takes its time.
const PIECE: Duration = Duration::from_millis(250);
const LINUX: u8 = 0x83;

pub async fn install(args: &[&str]) -> Result<i32> {
    let Some((&"install", args)) = args.split_first() else {
        bail!("the lab's coreos-installer installs, and nothing else");
    };
    let (mut ignition, mut device) = (None, None);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match *arg {
            "--insecure" | "--copy-network" | "-n" => {}
            "-i" => ignition = rest.next(),
            "--append-karg" | "--delete-karg" => drop(rest.next()),
            option if option.starts_with('-') => bail!("the lab's coreos-installer does not know {option}"),
            path => device = Some(path),
        }
    }
    let device = device.context("no disk is given")?;
    let text = files::read(ignition.context("no Ignition config is given")?)?;
    let _: Config = serde_json::from_slice(&text).context("that is no Ignition config")?;
    write(Path::new(device), &text).await.with_context(|| format!("{device} can't be written"))?;
    partitions::make().context("the system's folders can't be made")?;
    Ok(0)
}

async fn write(device: &Path, config: &[u8]) -> Result<()> {
    let mut disk = std::fs::File::options().write(true).open(device)?;
    // An older table would still start the machine.
    disk.write_all(&[0; SECTOR])?;
    let mut system = vec![0x5a; LENGTH];
    let length = u32::try_from(config.len()).context("a config without an end")?;
    let content = [&length.to_le_bytes()[..], config].concat();
    system.get_mut(..content.len()).context("the config does not fit")?.copy_from_slice(&content);
    disk.seek(SeekFrom::Start(u64::from(BEGIN) * SECTOR as u64))?;
    for (number, piece) in system.chunks(LENGTH / PIECES).enumerate() {
        disk.write_all(piece)?;
        disk.sync_data()?;
        let (written, all) = ((number + 1) * (LENGTH / PIECES), LENGTH);
        let percent = written * 100 / all;
        write!(std::io::stderr(), "> Read disk {} MiB/{} MiB ({percent}%)   \r", written >> 20, all >> 20)?;
        sleep(PIECE).await;
    }
    disk.seek(SeekFrom::Start(0))?;
    disk.write_all(&table())?;
    disk.sync_all()?;
    Ok(writeln!(std::io::stderr(), "\nInstall complete.")?)
}

/// A partition table with one partition.
fn table() -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    let entry = &mut sector[446..462];
    (entry[0], entry[4]) = (0x80, LINUX);
    entry[8..12].copy_from_slice(&BEGIN.to_le_bytes());
    entry[12..16].copy_from_slice(&u32::try_from(LENGTH / SECTOR).unwrap_or_default().to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_disk_starts_once_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        std::fs::write(&path, []).unwrap();
        let writing = {
            let path = path.clone();
            tokio::spawn(async move { write(&path, b"{}").await })
        };
        while std::fs::metadata(&path).unwrap().len() < 3 << 20 {
            tokio::task::yield_now().await;
        }
        assert_ne!(std::fs::read(&path).unwrap()[510], 0x55);
        writing.await.unwrap().unwrap();
        let disk = std::fs::read(&path).unwrap();
        assert_eq!((disk[510], disk[511]), (0x55, 0xaa));
        let at = (BEGIN as usize) * SECTOR;
        assert_eq!(disk[at..at + 6], *b"\x02\0\0\0{}");
    }
}
