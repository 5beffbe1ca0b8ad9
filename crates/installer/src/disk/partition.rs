//! The partitions of a disk, by their position (installer-and-controller §A12).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use crate::host::{Host, RunError};

/// Position of the EFI system partition on an installed disk.
pub const EFI: usize = 2;
/// Position of the boot partition.
pub const BOOT: usize = 3;
/// Position of the root partition.
pub const ROOT: usize = 4;

/// Why a disk's partitions aren't known.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    #[error("failed to run lsblk command: {0}")]
    Run(#[from] RunError),
    #[error("failed to unmarshal lsblk output: {0}")]
    Output(#[from] serde_json::Error),
    #[error("no block device information returned for {}", .0.display())]
    NoDevice(PathBuf),
    #[error("device {} has no partitions", .0.display())]
    NoPartitions(PathBuf),
    #[error("partition {number} not found on device {}", device.display())]
    NoPartition { number: usize, device: PathBuf },
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    blockdevices: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    name: String,
    #[serde(deserialize_with = "bytes")]
    size: u64,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    children: Option<Vec<Block>>,
}

/// Older tools write numbers as texts.
fn bytes<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Size {
        Number(u64),
        Text(String),
    }
    match Size::deserialize(input)? {
        Size::Number(size) => Ok(size),
        Size::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

/// A disk and its partitions.
pub struct Partitions {
    device: PathBuf,
    disk: Block,
}

impl Partitions {
    /// Looks at a disk.
    ///
    /// # Errors
    /// When the tool fails or its answer has no such disk, or one without partitions.
    pub async fn of(device: &Path, host: &Host) -> Result<Self, PartitionError> {
        let args: [&std::ffi::OsStr; 3] = ["--bytes".as_ref(), "--json".as_ref(), device.as_os_str()];
        Self::read(device, &host.run("lsblk", &args).await?)
    }

    fn read(device: &Path, text: &str) -> Result<Self, PartitionError> {
        let output: Output = serde_json::from_str(text)?;
        let disk = output.blockdevices.into_iter().next();
        let disk = disk.ok_or_else(|| PartitionError::NoDevice(device.to_owned()))?;
        if disk.children.iter().flatten().next().is_none() {
            return Err(PartitionError::NoPartitions(device.to_owned()));
        }
        Ok(Self { device: device.to_owned(), disk })
    }

    fn children(&self) -> &[Block] {
        self.disk.children.as_deref().unwrap_or_default()
    }

    /// The device of a partition; the first has the number 1.
    ///
    /// # Errors
    /// When there is none.
    pub fn path(&self, number: usize) -> Result<PathBuf, PartitionError> {
        let found = number.checked_sub(1).and_then(|index| self.children().get(index));
        let found =
            found.ok_or_else(|| PartitionError::NoPartition { number, device: self.device.clone() })?;
        let dir = if self.disk.kind == "mpath" { "/dev/mapper" } else { "/dev" };
        Ok(Path::new(dir).join(&found.name))
    }

    /// How much of the disk, in percent, stays free where all partitions stay as they are and so many bytes are needed
    /// in addition.
    pub fn free_percent(&self, needed: u64) -> u64 {
        let used: u64 = self.children().iter().map(|child| child.size).fold(0, u64::saturating_add);
        let total = used.saturating_add(needed);
        let free = u128::from(self.disk.size.saturating_sub(total)) * 100;
        u64::try_from(free / u128::from(self.disk.size.max(1))).unwrap_or_default()
    }

    /// Length of a partition in bytes.
    ///
    /// # Errors
    /// When there is none.
    pub fn size(&self, number: usize) -> Result<u64, PartitionError> {
        let found = number.checked_sub(1).and_then(|index| self.children().get(index));
        let none = || PartitionError::NoPartition { number, device: self.device.clone() };
        found.map(|child| child.size).ok_or_else(none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str, kind: &str) -> Result<Partitions, PartitionError> {
        let text = format!(
            r#"{{"blockdevices":[{{"name":"x","size":100000000000,"type":"{kind}","children":[
                {{"name":"{name}1","size":1048576}},{{"name":"{name}2","size":"133169152"}},
                {{"name":"{name}3","size":402653184}},{{"name":"{name}4","size":3351232512,"type":"part"}}]}}]}}"#
        );
        Partitions::read(Path::new("/dev/x"), &text)
    }

    #[test]
    fn partitions_are_told_by_position() {
        let path = |name, kind, number| disk(name, kind).unwrap().path(number).map_err(|e| e.to_string());
        assert_eq!(path("nvme0n1p", "disk", 3).unwrap(), Path::new("/dev/nvme0n1p3"));
        assert_eq!(path("mmcblk1P", "disk", 4).unwrap(), Path::new("/dev/mmcblk1P4"));
        assert_eq!(path("dm-", "disk", 3).unwrap(), Path::new("/dev/dm-3"));
        assert_eq!(path("dm-", "mpath", 3).unwrap(), Path::new("/dev/mapper/dm-3"));
        for number in [0, 5, usize::MAX] {
            let error = format!("partition {number} not found on device /dev/x");
            assert_eq!(path("sda", "disk", number).unwrap_err(), error);
        }
    }

    #[test]
    fn what_stays_free() {
        let disk = disk("sda", "disk").unwrap();
        assert_eq!(disk.free_percent(disk.size(ROOT).unwrap()), 92);
        assert_eq!(disk.free_percent((20 << 30) * 5 / 2), 42);
        assert_eq!(disk.free_percent(u64::MAX), 0);
    }

    #[test]
    fn odd_answers_have_their_errors() {
        let read = |text: &str| Partitions::read(Path::new("/dev/x"), text).err().unwrap().to_string();
        assert!(read("x").starts_with("failed to unmarshal lsblk output: "));
        assert_eq!(read(r#"{"blockdevices":[]}"#), "no block device information returned for /dev/x");
        for children in ["", r#","children":null"#, r#","children":[]"#] {
            let text = format!(r#"{{"blockdevices":[{{"name":"x","size":1{children}}}]}}"#);
            assert_eq!(read(&text), "device /dev/x has no partitions");
        }
    }
}
