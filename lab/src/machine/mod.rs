//! Machines under QEMU: booted the way real ones are, watched through their serial console and QEMU's events, gone with whoever
//! started them.

mod accelerator;
mod console;
mod hypervisor;
mod monitor;
mod process;
mod spec;
mod stop;
mod trial;
mod verdict;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use accelerator::Accelerator;
pub use console::Console;
pub use hypervisor::Hypervisor;
use process::Process;
pub use spec::{Boot, Disk, Firmware, Link, Nic, Spec};
pub use stop::Stop;
pub use verdict::Verdict;

/// Why a machine does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("{what} is missing: run `cargo xtask setup`")]
    Missing { what: String },
    #[error("{name} has a value that is not known: there are {known}")]
    Setting { name: &'static str, known: &'static str },
    #[error("{name} can't be started: {source}")]
    Start { name: String, source: io::Error },
    #[error("{} ended ({status}) before {:?} came; QEMU: {qemu}\n{}", wait.name, wait.wanted, wait.hint())]
    Ended { wait: Box<Unmet>, status: String, qemu: String },
    #[error("{} failed before {:?} came: {line}\n{}", wait.name, wait.wanted, wait.hint())]
    Failed { wait: Box<Unmet>, line: String },
    #[error(
        "{} stopped before {:?} came: {stop}\n{}\n{}",
        wait.name, wait.wanted, remedy(*stop, *accelerator, &wait.dir), wait.hint()
    )]
    Stopped { wait: Box<Unmet>, stop: Stop, accelerator: Accelerator },
    #[error("{}: no {:?} within {} s\n{}", wait.name, wait.wanted, limit.as_secs(), wait.hint())]
    Silent { wait: Box<Unmet>, limit: Duration },
    #[error("{name} does not take the command {command}: {reason}")]
    Command { name: String, command: String, reason: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
}

/// What was waited for, and where to look why it did not come.
#[derive(Debug)]
pub struct Unmet {
    name: String,
    wanted: String,
    /// The machine's folder.
    dir: PathBuf,
    /// The end of its console.
    tail: String,
}

impl Unmet {
    fn hint(&self) -> String {
        let Self { dir, tail, .. } = self;
        format!(
            "its console.log, qemu.log and qmp.log are in {}; the console ends so:\n{tail}",
            dir.display()
        )
    }
}

/// What helps a machine that has stopped.
fn remedy(stop: Stop, accelerator: Accelerator, dir: &Path) -> String {
    match stop {
        Stop::InternalError | Stop::Crashed(_) if accelerator == Accelerator::Kvm => {
            "KVM does not run it: emulation does (ASSISTED_LAB_ACCELERATOR=tcg)".to_owned()
        }
        Stop::InternalError | Stop::Crashed(_) => {
            format!("QEMU's own report is in {}", dir.join("qemu.log").display())
        }
        Stop::Panicked | Stop::Watchdog => "why is on its console".to_owned(),
        Stop::Io => format!("is there room left in {}?", dir.display()),
    }
}

impl MachineError {
    /// Whether the machine may do what it should when its instructions are emulated.
    pub fn is_of_kvm(&self) -> bool {
        matches!(self, Self::Stopped { stop, accelerator: Accelerator::Kvm, .. } if stop.is_of_accelerator())
    }

    /// The first line of this error.
    fn brief(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }

    /// The same, of a wait for something that has a name, which was made of shorter ones.
    fn of(mut self, what: &str, whole: Duration) -> Self {
        if let Self::Silent { limit, .. } = &mut self {
            *limit = whole;
        }
        if let Self::Ended { wait, .. }
        | Self::Failed { wait, .. }
        | Self::Stopped { wait, .. }
        | Self::Silent { wait, .. } = &mut self
        {
            what.clone_into(&mut wait.wanted);
        }
        self
    }
}

/// A running machine. It is killed when this is dropped, and when the thread that started it ends.
///
/// A machine that KVM can't run starts again under emulation as long as its disks hold nothing yet: then nothing is lost but
/// time. After that it is for whoever has begun to install it to begin again.
#[derive(Debug)]
pub struct Machine {
    hypervisor: Arc<Hypervisor>,
    namespace: Option<String>,
    spec: Spec,
    dir: PathBuf,
    process: Process,
}

impl Machine {
    /// Starts a machine; its disks, firmware variables, `console.log`, `qemu.log` and `qmp.log` stand in `dir`, which is made.
    /// Disks that are there already are kept: that is how a machine is started again.
    pub fn start(spec: &Spec, dir: &Path) -> Result<Self, MachineError> {
        Self::start_by(&Hypervisor::here()?, None, spec, dir)
    }

    /// Starts a machine whose taps are in a network namespace.
    pub fn start_in(namespace: &str, spec: &Spec, dir: &Path) -> Result<Self, MachineError> {
        Self::start_by(&Hypervisor::here()?, Some(namespace), spec, dir)
    }

    /// Starts a machine by another hypervisor than this computer's.
    pub fn start_by(
        hypervisor: &Arc<Hypervisor>,
        namespace: Option<&str>,
        spec: &Spec,
        dir: &Path,
    ) -> Result<Self, MachineError> {
        let accelerator = hypervisor.verdict(|told| tracing::info!("{told}")).accelerator;
        let process = match Process::start(hypervisor.command(namespace)?, accelerator, spec, dir) {
            Err(error) if error.is_of_kvm() && hypervisor.condemn_kvm(&error.brief()) => {
                Process::start(hypervisor.command(namespace)?, Accelerator::Tcg, spec, dir)?
            }
            process => process?,
        };
        let (hypervisor, namespace) = (Arc::clone(hypervisor), namespace.map(str::to_owned));
        Ok(Self { hypervisor, namespace, spec: spec.clone(), dir: dir.to_owned(), process })
    }

    /// What its process has written to its serial console.
    pub fn console(&self) -> &Console {
        &self.process.console
    }

    /// What runs its instructions: KVM at first, perhaps, and emulation once KVM has failed.
    pub fn accelerator(&self) -> Accelerator {
        self.process.accelerator
    }

    /// Waits until a text stands on the console, and gives the line it stands in. Fails at once when the machine ends or stops,
    /// or when its kernel or its initramfs gives up.
    pub fn wait_for(&mut self, text: &str, limit: Duration) -> Result<String, MachineError> {
        match self.process.wait_for(text, limit) {
            Err(error) => {
                self.start_emulated(error)?;
                self.process.wait_for(text, limit)
            }
            line => line,
        }
    }

    /// Fails when the machine has ended or stopped, or when its kernel or its initramfs has given up; for whoever waits
    /// elsewhere than at its console for what is `wanted`.
    pub fn must_live(&mut self, wanted: &str) -> Result<(), MachineError> {
        self.process.must_live(wanted).or_else(|error| self.start_emulated(error))
    }

    /// Presses the power button and waits until the machine is off.
    pub fn power_off(&mut self, limit: Duration) -> Result<(), MachineError> {
        self.process.power_off(limit)
    }

    /// Pulls the plug.
    pub fn kill(&mut self) -> Result<(), MachineError> {
        self.process.kill()
    }

    /// Makes the disks of a machine that is not there empty again; its consoles and logs stay.
    pub fn wipe(spec: &Spec, dir: &Path) -> Result<(), MachineError> {
        let disks = (0..spec.disks.len()).map(|number| spec::disk_path(dir, number));
        for path in disks.chain([spec::variables_path(dir)]) {
            match std::fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(MachineError::Io { path: path.display().to_string(), source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Starts the machine anew without KVM, where that is why it failed and nothing is lost by it.
    fn start_emulated(&mut self, error: MachineError) -> Result<(), MachineError> {
        if !error.is_of_kvm() || !self.hypervisor.condemn_kvm(&error.brief()) || self.has_written() {
            return Err(error);
        }
        tracing::warn!(machine = self.spec.name, error = error.brief(), "is started again, emulated");
        self.process.kill()?;
        let command = self.hypervisor.command(self.namespace.as_deref())?;
        self.process = Process::start(command, Accelerator::Tcg, &self.spec, &self.dir)?;
        Ok(())
    }

    /// Whether there is something on its disks: they are sparse files, which take no room before.
    fn has_written(&self) -> bool {
        let disks = (0..self.spec.disks.len()).map(|number| spec::disk_path(&self.dir, number));
        disks.map(std::fs::metadata).any(|disk| disk.map_or(true, |disk| disk.blocks() > 0))
    }
}
