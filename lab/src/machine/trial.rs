//! Whether KVM runs what machines here run: the boot loaders and the kernel of the lab's own image. Inside a virtual machine
//! the device may be there, run firmware, and fail with what comes after it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::process::Process;
use super::{Accelerator, Boot, Firmware, MachineError, Spec};
use crate::image::{GREETING, Image};

/// How long the whole trial may take.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// How long firmware may take until the boot loader says something, which takes seconds where KVM works.
const FIRMWARE: Duration = Duration::from_secs(40);

/// How often it is looked whether the other machine has failed already.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Boots the image with each firmware, at the same time, until its system starts; `command` makes a command for QEMU. The consoles
/// stay in a folder.
pub(super) fn kvm_runs(
    command: impl Fn() -> Result<Command, MachineError> + Sync,
    image: &Image,
    dir: &Path,
) -> Result<(), String> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let failed = AtomicBool::new(false);
    let try_one = |name: &str, firmware| {
        let booted =
            command().and_then(|command| boots(command, image, &dir.join(name), name, firmware, &failed));
        booted.map_err(|error| {
            failed.store(true, Ordering::Relaxed);
            error.brief()
        })
    };
    thread::scope(|scope| {
        let others = scope.spawn(|| try_one("uefi", Firmware::Uefi));
        let own = try_one("bios", Firmware::Bios);
        let other = others.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        own.and(other)
    })
}

/// Boots with one firmware, unless the other one has failed.
fn boots(
    command: Command,
    image: &Image,
    dir: &Path,
    name: &str,
    firmware: Firmware,
    failed: &AtomicBool,
) -> Result<(), MachineError> {
    let mut spec = Spec::new(&format!("trial-{name}"), firmware, Boot::Cd(image.iso()));
    spec.nics.clear();
    let mut process = Process::start(command, Accelerator::Kvm, &spec, dir)?;
    let began = Instant::now();
    // Any line will do first: no firmware writes one before it has started the boot loader.
    for (text, what, limit) in [("\n", "the boot loader", FIRMWARE), (GREETING, "the live system", LIMIT)] {
        while let Err(error) = process.wait_for(text, POLL_INTERVAL) {
            let is_late = began.elapsed() >= limit;
            if !matches!(error, MachineError::Silent { .. }) || is_late {
                return Err(error.of(what, limit));
            }
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
    Ok(())
}
