//! What was found out about an accelerator, kept with everything that it depends on.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assisted_lab_tools::wait::{Wait, child};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Accelerator;
use super::trial::LIMIT;
use crate::image::Image;

/// How long QEMU may take to tell its version, on a busy computer.
const VERSION: Duration = Duration::from_secs(30);

/// The accelerator that machines get, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub accelerator: Accelerator,
    pub why: String,
}

/// What a verdict depends on: another computer, kernel, QEMU or image is judged anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Conditions {
    machine: String,
    processor: String,
    kernel: String,
    qemu: String,
    image: String,
}

/// A verdict in its file.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    verdict: Verdict,
    conditions: Conditions,
}

/// Where the verdict under some conditions is kept.
pub(super) struct VerdictFile {
    dir: PathBuf,
    key: String,
}

impl Verdict {
    pub(super) fn new(accelerator: Accelerator, why: String) -> Self {
        Self { accelerator, why }
    }
}

impl Conditions {
    /// Those of this computer now; what can't be told is empty.
    pub(super) fn here(qemu: &OsStr, image: &Image) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let mut wait = Wait::new("QEMU's version", qemu.display(), VERSION);
        let version = child::output(Command::new(qemu).arg("--version"), &mut wait).map(|told| told.stdout);
        let version = String::from_utf8(version.unwrap_or_default()).unwrap_or_default();
        let image = image.dir().file_name().unwrap_or_default();
        Self {
            machine: read("/etc/machine-id"),
            processor: processor(&read("/proc/cpuinfo")),
            kernel: format!("{} {}", read("/proc/sys/kernel/osrelease"), read("/proc/sys/kernel/version")),
            qemu: format!("{} {}", qemu.display(), version.lines().next().unwrap_or_default()),
            image: image.display().to_string(),
        }
    }

    pub(super) fn place(&self, dir: &Path) -> VerdictFile {
        let mut hash = Sha256::new();
        for part in [&self.machine, &self.processor, &self.kernel, &self.qemu, &self.image] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let key: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        VerdictFile { dir: dir.to_owned(), key }
    }
}

/// What tells one kind of processor from another: the lines about the first one that are the same at each look.
fn processor(info: &str) -> String {
    const TELLING: [&str; 7] =
        ["vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags"];
    let first = info.split("\n\n").next().unwrap_or_default();
    let named = first.lines().filter_map(|line| line.split_once(':'));
    let telling = named.filter(|(name, _)| TELLING.contains(&name.trim()));
    telling.map(|(_, value)| value.trim()).collect::<Vec<_>>().join(", ")
}

impl VerdictFile {
    /// The file itself.
    pub(super) fn file(&self) -> PathBuf {
        self.dir.join(format!("{}.json", self.key))
    }

    /// The folder with the consoles of a trial.
    pub(super) fn consoles(&self) -> PathBuf {
        self.dir.join(&self.key)
    }

    /// Lets nobody else judge at the same time. Whoever judges is waited for no longer than they may take.
    pub(super) fn lock(&self) -> io::Result<File> {
        std::fs::create_dir_all(&self.dir)?;
        let lock = File::create(self.dir.join(format!("{}.lock", self.key)))?;
        let mut wait = Wait::new("the verdict about KVM of another process", self.dir.display(), 2 * LIMIT);
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(lock),
                Err(Errno::WOULDBLOCK) => {
                    wait.pause(Duration::from_millis(100)).map_err(io::Error::other)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The verdict under exactly these conditions.
    pub(super) fn kept(&self, conditions: &Conditions) -> Option<Verdict> {
        let kept: Kept = serde_json::from_slice(&std::fs::read(self.file()).ok()?).ok()?;
        (kept.conditions == *conditions).then_some(kept.verdict)
    }

    /// Keeps a verdict in place of an earlier one. Without it the trial is made again the next time.
    pub(super) fn keep(&self, conditions: &Conditions, verdict: &Verdict) {
        let kept = Kept { verdict: verdict.clone(), conditions: conditions.clone() };
        let file = self.file();
        let unfinished = file.with_extension(format!("unfinished-{}", std::process::id()));
        let written = serde_json::to_vec_pretty(&kept)
            .map_err(io::Error::from)
            .and_then(|text| std::fs::write(&unfinished, text))
            .and_then(|()| std::fs::rename(&unfinished, &file));
        if let Err(error) = written {
            tracing::warn!(%error, file = %file.display(), "the verdict about KVM is not kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions() -> Conditions {
        let text = str::to_owned;
        Conditions {
            machine: text("one"),
            processor: text("fast"),
            kernel: text("6"),
            qemu: text("7"),
            image: text("8"),
        }
    }

    #[test]
    fn a_verdict_is_kept_for_its_conditions_alone_and_can_be_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let conditions = conditions();
        let place = conditions.place(dir.path());
        assert_eq!(place.kept(&conditions), None);
        for accelerator in [Accelerator::Kvm, Accelerator::Tcg] {
            let verdict = Verdict::new(accelerator, "seen".to_owned());
            place.keep(&conditions, &verdict);
            assert_eq!(place.kept(&conditions), Some(verdict));
        }
        let other = |part: &str| {
            let mut other = serde_json::to_value(&conditions).unwrap();
            other[part] = "another".into();
            serde_json::from_value::<Conditions>(other).unwrap()
        };
        for part in ["machine", "processor", "kernel", "qemu", "image"] {
            let other = other(part);
            assert_eq!(other.place(dir.path()).kept(&other), None);
            assert_eq!(place.kept(&other), None);
        }
        std::fs::write(place.file(), "{").unwrap();
        assert_eq!(place.kept(&conditions), None);
    }

    #[test]
    fn a_processor_is_known_by_what_does_not_change() {
        let info = |mhz: &str, name: &str| {
            format!(
                "processor\t: 0\nmodel name\t: {name}\ncpu MHz\t\t: {mhz}\nflags\t\t: fpu svm\n\nprocessor\t: 1\n"
            )
        };
        assert_eq!(processor(&info("1", "A")), "A, fpu svm");
        assert_eq!(processor(&info("1", "A")), processor(&info("2", "A")));
        assert_ne!(processor(&info("1", "A")), processor(&info("1", "B")));
    }
}
