//! One process of a machine: a QEMU process from its start to its end.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assisted_lab_tools::wait::Wait;

use super::console::{Console, Found};
use super::monitor::{Monitor, MonitorSocket};
use super::spec::{self, Spec};
use super::stop::Stop;
use super::{Accelerator, MachineError, Unmet};

/// How long QEMU may take until it connects to its monitor, on a busy computer.
const CONNECT: Duration = Duration::from_secs(60);

/// The longest time without a look at the clock.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// How long a command to QEMU may take.
const ANSWER: Duration = Duration::from_secs(10);

/// A QEMU process. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub(super) struct Process {
    name: String,
    dir: PathBuf,
    pub(super) accelerator: Accelerator,
    child: Child,
    pub(super) console: Console,
    monitor: Option<Monitor>,
}

impl Process {
    /// Starts QEMU by a command that has no arguments yet; see [`super::Machine::start`].
    pub(super) fn start(
        mut command: Command,
        accelerator: Accelerator,
        spec: &Spec,
        dir: &Path,
    ) -> Result<Self, MachineError> {
        prepare(spec, dir)?;
        let (errors, socket) = (dir.join("qemu.log"), spec::monitor_path(dir));
        let log = File::options().create(true).append(true).open(&errors).map_err(at(&errors))?;
        let socket = MonitorSocket::open(socket.clone()).map_err(at(&socket))?;
        command.args(accelerator.arguments()).args(spec.arguments(dir)?);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let start = |source| MachineError::Start { name: spec.name.clone(), source };
        let mut child = command.spawn().map_err(start)?;
        let Some(serial) = child.stdout.take() else {
            return Err(start(io::ErrorKind::BrokenPipe.into()));
        };
        let log = dir.join("console.log");
        let console = Console::read(serial, &log).map_err(at(&log))?;
        let (name, dir) = (spec.name.clone(), dir.to_owned());
        let mut process = Self { name, dir, accelerator, child, console, monitor: None };
        process.connect(&socket)?;
        tracing::debug!(machine = spec.name, dir = %process.dir.display(), "started");
        Ok(process)
    }

    /// Waits until QEMU connects to its monitor, which it does before the machine runs.
    fn connect(&mut self, socket: &MonitorSocket) -> Result<(), MachineError> {
        let log = self.dir.join("qmp.log");
        let mut wait = self.wait(format_args!("QEMU of {}", self.name), CONNECT);
        loop {
            if let Some(stream) = socket.accept().map_err(at(&log))? {
                self.monitor = Some(Monitor::follow(stream, self.console.clone(), &log).map_err(at(&log))?);
                return Ok(());
            }
            if self.child.try_wait().map_err(at(&self.dir))?.is_some() {
                return Err(self.failed(Found::End, "its start"));
            }
            if wait.pause(Duration::from_millis(5)).is_err() {
                return Err(self.silent("its start", CONNECT));
            }
        }
    }

    /// Waits until a text stands on the console, and gives the line it stands in.
    pub(super) fn wait_for(&mut self, text: &str, limit: Duration) -> Result<String, MachineError> {
        let mut wait = self.wait(format_args!("{text:?} of {}", self.name), limit);
        loop {
            match self.console.wait_for(text, Instant::now() + wait.left().min(POLL_INTERVAL)) {
                Found::Line(line) => return Ok(line),
                Found::Nothing if wait.go_on().is_ok() => {}
                Found::Nothing => return Err(self.silent(text, limit)),
                found => return self.console.late(text).ok_or_else(|| self.failed(found, text)),
            }
        }
    }

    /// Fails when the machine has stopped, ended or given up before what is `wanted` came.
    pub(super) fn must_live(&mut self, wanted: &str) -> Result<(), MachineError> {
        match self.console.failure() {
            Some(found) => Err(self.failed(found, wanted)),
            None => Ok(()),
        }
    }

    /// Presses the power button and waits until the machine is off.
    pub(super) fn power_off(&mut self, limit: Duration) -> Result<(), MachineError> {
        let command = "system_powerdown";
        let sent = self
            .monitor
            .as_ref()
            .map_or(Err("there is no connection".to_owned()), |monitor| monitor.execute(command, ANSWER));
        sent.map_err(|reason| MachineError::Command {
            name: self.name.clone(),
            command: command.to_owned(),
            reason,
        })?;
        let mut wait = self.wait(format_args!("{}, which is told to switch itself off", self.name), limit);
        while !self.console.wait_for_end(Instant::now() + wait.left().min(POLL_INTERVAL)) {
            if wait.go_on().is_err() {
                return Err(self.silent("power off", limit));
            }
        }
        self.ended().map(drop)
    }

    /// Pulls the plug.
    pub(super) fn kill(&mut self) -> Result<(), MachineError> {
        self.child.kill().map_err(at(&self.dir))?;
        self.ended().map(drop)
    }

    /// How QEMU ended, once its console has. A little later it is gone, or else is killed.
    fn ended(&mut self) -> Result<ExitStatus, MachineError> {
        let mut wait = self.wait(format_args!("the end of QEMU of {}", self.name), ANSWER);
        while self.child.try_wait().map_err(at(&self.dir))?.is_none() {
            if wait.pause(Duration::from_millis(5)).is_err() {
                self.child.kill().map_err(at(&self.dir))?;
                break;
            }
        }
        self.child.wait().map_err(at(&self.dir))
    }

    fn wait(&self, what: std::fmt::Arguments<'_>, limit: Duration) -> Wait {
        Wait::new(what, self.dir.join("console.log").display(), limit)
    }

    fn unmet(&self, wanted: &str) -> Box<Unmet> {
        let (name, wanted, dir) = (self.name.clone(), wanted.to_owned(), self.dir.clone());
        Box::new(Unmet { name, wanted, dir, tail: self.console.tail() })
    }

    fn silent(&self, wanted: &str, limit: Duration) -> MachineError {
        MachineError::Silent { wait: self.unmet(wanted), limit }
    }

    fn failed(&mut self, found: Found, wanted: &str) -> MachineError {
        let (wait, accelerator) = (self.unmet(wanted), self.accelerator);
        match found {
            Found::Stopped(stop) => MachineError::Stopped { wait, stop, accelerator },
            Found::Fatal(line) => MachineError::Failed { wait, line },
            Found::End | Found::Line(_) | Found::Nothing => {
                let status = self.ended();
                let signal = status.as_ref().ok().and_then(ExitStatusExt::signal);
                if let Some(stop) = signal.and_then(Stop::of_signal) {
                    return MachineError::Stopped { wait, stop, accelerator };
                }
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                let qemu = std::fs::read_to_string(self.dir.join("qemu.log")).unwrap_or_default();
                MachineError::Ended { wait, status, qemu: qemu.trim().to_owned() }
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Makes what a machine needs in its folder, unless an earlier process has left it.
fn prepare(spec: &Spec, dir: &Path) -> Result<(), MachineError> {
    std::fs::create_dir_all(dir).map_err(at(dir))?;
    for (number, disk) in spec.disks.iter().enumerate() {
        let path = spec::disk_path(dir, number);
        let file = File::options().create(true).append(true).open(&path).map_err(at(&path))?;
        if file.metadata().map_err(at(&path))?.len() == 0 {
            // Sparse: only what is written takes room.
            file.set_len(disk.bytes).map_err(at(&path))?;
        }
    }
    if let Some(template) = spec.firmware.variables()? {
        let own = spec::variables_path(dir);
        if !own.exists() {
            std::fs::copy(&template, &own).map_err(at(&template))?;
        }
    }
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> MachineError {
    let path = path.display().to_string();
    move |source| MachineError::Io { path, source }
}
