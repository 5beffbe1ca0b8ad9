//! Machines under QEMU: booted the way real ones are, watched through their serial console, gone with whoever started
//! them.

mod accelerator;
mod console;
mod qmp;
mod spec;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::network;
pub use accelerator::Accelerator;
pub use console::Console;
use console::Found;
pub use spec::{Boot, Disk, Firmware, Link, Nic, Spec};

/// QEMU's program for the one architecture that the lab knows.
const QEMU: &str = "qemu-system-x86_64";

/// How long a machine may take to leave once it was asked to.
const LEAVE: Duration = Duration::from_secs(10);

/// Why a machine does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("{what} is missing: run `cargo xtask setup`")]
    Missing { what: String },
    #[error("{name} can't be started: {source}")]
    Start { name: String, source: io::Error },
    #[error("{name} ended ({status}) before {wanted:?} came; QEMU: {qemu}\nthe end of its console:\n{tail}")]
    Ended { name: String, wanted: String, status: String, qemu: String, tail: String },
    #[error("{name} failed before {wanted:?} came: {line}\nthe end of its console:\n{tail}")]
    Failed { name: String, wanted: String, line: String, tail: String },
    #[error("{name}: no {wanted:?} within {} s\nthe end of its console:\n{tail}", limit.as_secs())]
    Silent { name: String, wanted: String, limit: Duration, tail: String },
    #[error("{name} does not take the command {command}: {reason}")]
    Command { name: String, command: String, reason: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
}

/// A running machine. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct Machine {
    name: String,
    dir: PathBuf,
    child: Child,
    console: Console,
}

impl Machine {
    /// Starts a machine; its disks, firmware variables, `console.log` and `qemu.log` stand in `dir`, which is made. Disks
    /// that are there already are kept: that is how a machine is started again.
    pub fn start(spec: &Spec, dir: &Path) -> Result<Self, MachineError> {
        Self::start_by(tied(QEMU), spec, dir)
    }

    /// Starts a machine whose taps are in a network namespace.
    pub fn start_in(namespace: &str, spec: &Spec, dir: &Path) -> Result<Self, MachineError> {
        Self::start_by(network::inside(namespace, QEMU), spec, dir)
    }

    fn start_by(mut command: Command, spec: &Spec, dir: &Path) -> Result<Self, MachineError> {
        let io = |path: &Path| {
            let path = path.display().to_string();
            move |source| MachineError::Io { path, source }
        };
        std::fs::create_dir_all(dir).map_err(io(dir))?;
        for (number, disk) in spec.disks.iter().enumerate() {
            let path = spec::disk_path(dir, number);
            let file = File::options().create(true).append(true).open(&path).map_err(io(&path))?;
            if file.metadata().map_err(io(&path))?.len() == 0 {
                // Sparse: only what is written takes room.
                file.set_len(disk.bytes).map_err(io(&path))?;
            }
        }
        if let Some(template) = spec.firmware.variables()? {
            let own = spec::variables_path(dir);
            if !own.exists() {
                std::fs::copy(&template, &own).map_err(io(&template))?;
            }
        }
        let errors = dir.join("qemu.log");
        let errors = File::create(&errors).map_err(io(&errors))?;
        command.args(arguments(spec, dir)?).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let start = |source| MachineError::Start { name: spec.name.clone(), source };
        let mut child = command.spawn().map_err(start)?;
        let Some(serial) = child.stdout.take() else {
            return Err(start(io::ErrorKind::BrokenPipe.into()));
        };
        let log = dir.join("console.log");
        let console = Console::read(serial, &log).map_err(io(&log))?;
        tracing::debug!(machine = spec.name, dir = %dir.display(), "started");
        Ok(Self { name: spec.name.clone(), dir: dir.to_owned(), child, console })
    }

    /// What it has written to its serial console.
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// Waits until a text stands on the console, and gives the line it stands in. Fails at once when the machine ends, or
    /// when its kernel or its initramfs gives up.
    pub fn wait_for(&mut self, text: &str, limit: Duration) -> Result<String, MachineError> {
        let (name, wanted) = (self.name.clone(), text.to_owned());
        match self.console.wait_for(text, Instant::now() + limit) {
            Found::Line(line) => Ok(line),
            Found::Fatal(line) => Err(MachineError::Failed { name, wanted, line, tail: self.console.tail() }),
            Found::Nothing => Err(MachineError::Silent { name, wanted, limit, tail: self.console.tail() }),
            Found::End => {
                let status =
                    self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                let qemu = std::fs::read_to_string(self.dir.join("qemu.log")).unwrap_or_default();
                let (qemu, tail) = (qemu.trim().to_owned(), self.console.tail());
                Err(MachineError::Ended { name, wanted, status, qemu, tail })
            }
        }
    }

    /// Fails when the machine has ended, or when its kernel or its initramfs has given up; for whoever waits elsewhere than at
    /// its console for what is `wanted`.
    pub fn must_live(&mut self, wanted: &str) -> Result<(), MachineError> {
        if self.console.failure().is_some() {
            self.wait_for(wanted, Duration::ZERO).map(drop)
        } else {
            Ok(())
        }
    }

    /// Presses the power button and waits until the machine is off.
    pub fn power_off(&mut self, limit: Duration) -> Result<(), MachineError> {
        self.command("system_powerdown")?;
        if self.console.wait_for_end(Instant::now() + limit) {
            self.wait_for_exit().map(|_| ())
        } else {
            let (name, wanted) = (self.name.clone(), "power off".to_owned());
            Err(MachineError::Silent { name, wanted, limit, tail: self.console.tail() })
        }
    }

    /// Pulls the plug.
    pub fn kill(&mut self) -> Result<(), MachineError> {
        self.child.kill().map_err(|source| self.io(source))?;
        self.wait_for_exit().map(|_| ())
    }

    fn wait_for_exit(&mut self) -> Result<ExitStatus, MachineError> {
        self.child.wait().map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> MachineError {
        MachineError::Io { path: self.name.clone(), source }
    }

    fn command(&self, command: &str) -> Result<(), MachineError> {
        qmp::execute(&spec::monitor_path(&self.dir), command, LEAVE).map_err(|reason| MachineError::Command {
            name: self.name.clone(),
            command: command.to_owned(),
            reason,
        })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn arguments(spec: &Spec, dir: &Path) -> Result<Vec<OsString>, MachineError> {
    let mut arguments = Accelerator::best().arguments();
    arguments.extend(spec.arguments(dir)?);
    Ok(arguments)
}

/// A command for a program that is killed when the thread that starts it ends, however this process ends.
fn tied(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", program]);
    command
}
