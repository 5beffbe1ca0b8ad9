//! What runs a machine's instructions: KVM where it works, else QEMU itself.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{QEMU, tied};

/// How long firmware may take under KVM until it has run: a broken nested KVM hangs or ends.
const TRIAL: Duration = Duration::from_secs(5);

/// What runs a machine's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    /// The fastest that works here; `ASSISTED_LAB_ACCELERATOR` (`kvm` or `tcg`) has the last word.
    pub fn best() -> Self {
        static BEST: OnceLock<Accelerator> = OnceLock::new();
        *BEST.get_or_init(|| match std::env::var("ASSISTED_LAB_ACCELERATOR").as_deref() {
            Ok("kvm") => Self::Kvm,
            Ok("tcg") => Self::Tcg,
            _ if kvm_works() => Self::Kvm,
            _ => Self::Tcg,
        })
    }

    /// QEMU's options for it.
    pub(super) fn arguments(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            Self::Kvm => &["-accel", "kvm", "-cpu", "host"],
            // The least that CoreOS runs on: newer instructions are slower to emulate than what they replace.
            Self::Tcg => &["-accel", "tcg,thread=multi", "-cpu", "Nehalem"],
        };
        words.iter().map(OsString::from).collect()
    }
}

/// Whether a machine really runs under KVM: inside a virtual machine the device may be there and useless. The trial is
/// a firmware that finds nothing to boot and, told so, ends the machine.
fn kvm_works() -> bool {
    if std::fs::File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return false;
    }
    let mut command: Command = tied(QEMU);
    command
        .args(Accelerator::Kvm.arguments())
        .args(["-machine", "q35", "-m", "64", "-display", "none", "-nodefaults", "-no-reboot"])
        .args(["-boot", "reboot-timeout=0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let deadline = Instant::now() + TRIAL;
    let works = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            _ => break false,
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    works
}
