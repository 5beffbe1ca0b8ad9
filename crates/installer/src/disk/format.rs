//! Taking other disks out of the race for what the machine boots from.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tracing::{info, warn};

use crate::host::Host;

/// Where partition tables and boot records begin, in bytes.
const SECTOR: [u8; 512] = [0; 512];

/// Overwrites the first sector of each disk. A disk that can't be written is only told in the log.
pub fn format<'a>(disks: impl IntoIterator<Item = &'a Path>, host: &Host) {
    for disk in disks {
        match wipe(&host.path(host.resolve(disk))) {
            Ok(()) => info!(disk = %disk.display(), "formatted"),
            Err(error) => warn!(disk = %disk.display(), %error, "can't format"),
        }
    }
}

fn wipe(path: &Path) -> io::Result<()> {
    // A path that isn't there is no disk; no file is made in its place.
    let mut disk = File::options().write(true).open(path)?;
    disk.write_all(&SECTOR)?;
    disk.sync_all()
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn only_the_first_sector_goes() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dev")).unwrap();
        let disk = dir.path().join("dev/sdb");
        std::fs::write(&disk, [7; 2_048]).unwrap();
        let host = Host::at(dir.path(), Tools::default());
        format([Path::new("/dev/none"), Path::new("/dev/sdb")], &host);
        let found = std::fs::read(&disk).unwrap();
        assert_eq!((found.len(), &found[..512], found[512]), (2_048, &[0; 512][..], 7));
        assert!(!dir.path().join("dev/none").exists());
    }
}
