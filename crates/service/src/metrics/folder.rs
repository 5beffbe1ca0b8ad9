//! How much the data folder takes, and how full its file system is.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus::{Gauge, GaugeVec, Opts, Registry, Result};

use super::families::PREFIX;

/// So long what was measured counts: all files are visited for it.
const FRESH: Duration = Duration::from_secs(60);

/// Measures of a folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    used: GaugeVec,
    free: GaugeVec,
    share: Gauge,
    measured: Mutex<Option<Instant>>,
}

/// What was found.
#[derive(Debug)]
struct Usage {
    used: u64,
    free: u64,
    /// Percent of the file system that are taken, in steps of a tenth.
    share: f64,
}

impl Folder {
    pub(super) fn new(path: PathBuf, registry: &Registry) -> Result<Self> {
        let gauges = |name: &str, help: &str| {
            let gauges = GaugeVec::new(Opts::new(name, help), &["directory"])?;
            registry.register(Box::new(gauges.clone()))?;
            Ok::<_, prometheus::Error>(gauges)
        };
        let share = Gauge::new(
            format!("{PREFIX}filesystem_usage_percentage"),
            "Percent of the file system of the data folder that are taken.",
        )?;
        registry.register(Box::new(share.clone()))?;
        Ok(Self {
            used: gauges(
                "assisted_installer_directory_usage_bytes",
                "Bytes of the files in the data folder.",
            )?,
            free: gauges("assisted_installer_fs_free_bytes", "Bytes that are free on its file system.")?,
            path,
            share,
            measured: Mutex::default(),
        })
    }

    /// Measures anew, unless that was done lately. It reads folders: not for threads that serve requests.
    pub(super) fn measure(&self) {
        let mut measured = self.measured.lock();
        if measured.is_some_and(|at| at.elapsed() < FRESH) {
            return;
        }
        match usage(&self.path) {
            Ok(found) => {
                let label = self.path.to_string_lossy();
                self.used.with_label_values(&[&*label]).set(found.used as f64);
                self.free.with_label_values(&[&*label]).set(found.free as f64);
                self.share.set(found.share);
                *measured = Some(Instant::now());
            }
            Err(error) => {
                // A figure of before would look like one of now.
                self.used.reset();
                self.free.reset();
                tracing::warn!(path = %self.path.display(), %error, "it is not known how much the data folder takes");
            }
        }
    }
}

fn usage(path: &Path) -> io::Result<Usage> {
    let found = rustix::fs::statvfs(path)?;
    let taken = found.f_blocks.saturating_sub(found.f_bfree);
    let tenths = taken.saturating_mul(1000).checked_div(found.f_blocks).unwrap_or_default();
    let mut used = 0;
    walk(path, &mut HashSet::new(), &mut used)?;
    Ok(Usage { used, free: found.f_bfree.saturating_mul(found.f_frsize), share: tenths as f64 / 10.0 })
}

/// Adds up the bytes of plain files; those that have several names count once.
fn walk(folder: &Path, seen: &mut HashSet<(u64, u64)>, used: &mut u64) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        // Gone since it was seen.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_dir() {
            walk(&entry.path(), seen, used)?;
        } else if metadata.is_file()
            && (metadata.nlink() == 1 || seen.insert((metadata.dev(), metadata.ino())))
        {
            *used += metadata.len();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_several_names_count_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("in")).unwrap();
        std::fs::write(path("in/a"), [0; 10]).unwrap();
        std::fs::hard_link(path("in/a"), path("b")).unwrap();
        std::fs::write(path("c"), [0; 5]).unwrap();
        std::os::unix::fs::symlink("c", path("d")).unwrap();
        let found = usage(dir.path()).unwrap();
        assert_eq!(found.used, 15);
        assert!(found.free > 0 && (0.0..=100.0).contains(&found.share), "{found:?}");
    }
}
