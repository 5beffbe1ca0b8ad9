//! The QEMU of this computer, and the accelerator that its machines get.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::trial::kvm_runs;
use super::verdict::{Conditions, Verdict};
use super::{Accelerator, MachineError};
use crate::image::{Image, Kind};
use crate::network;

/// QEMU's program for the one architecture that the lab knows.
const QEMU: &str = "qemu-system-x86_64";

/// What KVM is asked through.
const DEVICE: &str = "/dev/kvm";

/// Names the program to run in place of [`QEMU`].
const PROGRAM: &str = "ASSISTED_LAB_QEMU";

/// Has the last word about the accelerator: `kvm` or `tcg`.
const ACCELERATOR: &str = "ASSISTED_LAB_ACCELERATOR";

/// What starts machines: QEMU, with the fastest accelerator that runs them.
#[derive(Debug)]
pub struct Hypervisor {
    program: OsString,
    /// Without it the usual program has no KVM.
    device: PathBuf,
    /// The accelerator that somebody has asked for.
    asked: Option<Accelerator>,
    /// The folder where verdicts are kept.
    verdicts: Option<PathBuf>,
    /// The facts on which the verdict about an accelerator depends: computer, kernel, QEMU and image.
    image: Option<Image>,
    chosen: Mutex<Option<Verdict>>,
}

impl Hypervisor {
    /// That of this process, as its environment sets it.
    ///
    /// # Errors
    /// When `ASSISTED_LAB_ACCELERATOR` names none.
    pub fn here() -> Result<Arc<Self>, MachineError> {
        static HERE: OnceLock<Arc<Hypervisor>> = OnceLock::new();
        if let Some(here) = HERE.get() {
            return Ok(Arc::clone(here));
        }
        let program = std::env::var_os(PROGRAM).filter(|program| !program.is_empty());
        let verdicts = assisted_lab_tools::cache().ok().map(|cache| cache.join("accelerator"));
        let mut here =
            Self::new(program.unwrap_or_else(|| QEMU.into()), verdicts, Image::find(Kind::Plain).ok());
        here.asked = match std::env::var(ACCELERATOR).as_deref() {
            Ok("kvm") => Some(Accelerator::Kvm),
            Ok("tcg") => Some(Accelerator::Tcg),
            Ok("") | Err(std::env::VarError::NotPresent) => None,
            _ => return Err(MachineError::Setting { name: ACCELERATOR, known: "kvm and tcg" }),
        };
        Ok(Arc::clone(HERE.get_or_init(|| Arc::new(here))))
    }

    /// One that keeps its verdicts in a folder, and judges by an image.
    pub fn new(program: impl Into<OsString>, verdicts: Option<PathBuf>, image: Option<Image>) -> Self {
        let chosen = Mutex::new(None);
        Self { program: program.into(), device: DEVICE.into(), asked: None, verdicts, image, chosen }
    }

    /// The accelerator of the next machine, and why it is that one. The first time on a computer KVM is tried, which may take
    /// two minutes; `tell` is told so.
    pub fn verdict(&self, tell: impl Fn(&str)) -> Verdict {
        if let Some(accelerator) = self.asked {
            return Verdict::new(accelerator, format!("{ACCELERATOR} says so"));
        }
        // Whoever comes second waits for the first one's trial, which has a limit.
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        chosen.get_or_insert_with(|| self.probe(tell)).clone()
    }

    fn probe(&self, tell: impl Fn(&str)) -> Verdict {
        let emulation = |why: &str| Verdict::new(Accelerator::Tcg, why.to_owned());
        // Another program than the usual one may know another way.
        if self.program == QEMU
            && let Err(error) = File::options().read(true).write(true).open(&self.device)
        {
            return emulation(&format!("{}: {error}", self.device.display()));
        }
        let Some((image, dir)) = self.image.as_ref().zip(self.verdicts.as_ref()) else {
            return emulation("the lab image is not there, by which KVM is judged");
        };
        let conditions = Conditions::here(&self.program, image);
        let place = conditions.place(dir);
        let locked = match place.lock() {
            Ok(locked) => locked,
            Err(error) => return emulation(&format!("KVM can't be judged in {}: {error}", dir.display())),
        };
        if let Some(verdict) = place.kept(&conditions) {
            return verdict;
        }
        let consoles = place.consoles();
        tell(&format!(
            "KVM is tried with the lab's image, once on this computer, for two minutes at most; consoles in {}",
            consoles.display()
        ));
        let verdict = match kvm_runs(|| self.command(None), image, &consoles) {
            Ok(()) => Verdict::new(Accelerator::Kvm, "it booted the lab's image".to_owned()),
            Err(why) => emulation(&format!("KVM can't boot the lab's image: {why}")),
        };
        place.keep(&conditions, &verdict);
        drop(locked);
        verdict
    }

    /// Whether the next machine is emulated, as far as that is known.
    pub fn is_emulating(&self) -> bool {
        let chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.asked.or(chosen.as_ref().map(|verdict| verdict.accelerator));
        known == Some(Accelerator::Tcg)
    }

    /// Notes that KVM has failed with a machine: later ones are emulated, in later processes too. False when somebody wants KVM
    /// all the same.
    pub(super) fn condemn_kvm(&self, why: &str) -> bool {
        if self.asked.is_some() {
            return false;
        }
        let verdict = Verdict::new(Accelerator::Tcg, why.to_owned());
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        *chosen = Some(verdict.clone());
        drop(chosen);
        if let Some((image, dir)) = self.image.as_ref().zip(self.verdicts.as_ref()) {
            let conditions = Conditions::here(&self.program, image);
            conditions.place(dir).keep(&conditions, &verdict);
        }
        true
    }

    /// Where the verdict about this computer is kept, if it is.
    pub fn kept_in(&self) -> Option<PathBuf> {
        let (image, dir) = self.image.as_ref().zip(self.verdicts.as_ref())?;
        Some(Conditions::here(&self.program, image).place(dir).file()).filter(|file| file.is_file())
    }

    /// A command for QEMU, in a network namespace if there is one, that is killed when the thread that starts it ends,
    /// however this process ends.
    pub(super) fn command(&self, namespace: Option<&str>) -> Result<Command, MachineError> {
        let is_name = Path::new(&self.program).components().count() == 1;
        let found = self.program.to_str().and_then(assisted_lab_tools::on_path);
        if is_name && found.is_none() {
            return Err(MachineError::Missing { what: self.program.display().to_string() });
        }
        if let Some(namespace) = namespace {
            return Ok(network::inside(namespace, &self.program));
        }
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.program);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(asked: Option<Accelerator>) -> Hypervisor {
        Hypervisor { asked, ..Hypervisor::new(QEMU, None, None) }
    }

    #[test]
    fn whoever_asks_for_an_accelerator_gets_it_even_after_a_failure() {
        let hypervisor = here(Some(Accelerator::Kvm));
        assert!(!hypervisor.condemn_kvm("it failed"));
        assert_eq!(hypervisor.verdict(|_| ()).accelerator, Accelerator::Kvm);
    }

    #[test]
    fn a_computer_without_kvm_emulates_and_tries_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join("kvm");
        let of = |device: &Path| {
            let hypervisor = Hypervisor {
                device: device.to_owned(),
                ..Hypervisor::new(QEMU, Some(dir.path().into()), None)
            };
            hypervisor.verdict(|told| panic!("{told}"))
        };
        let verdict = of(&device);
        assert_eq!(verdict.accelerator, Accelerator::Tcg);
        assert!(verdict.why.starts_with(&format!("{}: No such file", device.display())), "{verdict:?}");
        // One that is there is no reason.
        std::fs::write(&device, "").unwrap();
        assert!(of(&device).why.contains("the lab image"), "{:?}", of(&device));
    }

    #[test]
    fn nothing_is_trusted_that_could_not_be_judged_or_has_failed() {
        let hypervisor = here(None);
        assert_eq!(hypervisor.verdict(|_| ()).accelerator, Accelerator::Tcg);
        *hypervisor.chosen.lock().unwrap() = Some(Verdict::new(Accelerator::Kvm, "it worked".to_owned()));
        assert!(hypervisor.condemn_kvm("it failed"));
        assert_eq!(hypervisor.verdict(|_| ()), Verdict::new(Accelerator::Tcg, "it failed".to_owned()));
    }

    #[test]
    fn a_program_that_is_not_there_is_missed() {
        let error = Hypervisor::new("no-such-qemu", None, None).command(None).unwrap_err();
        assert_eq!(error.to_string(), "no-such-qemu is missing: run `cargo xtask setup`");
    }
}
