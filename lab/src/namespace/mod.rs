//! Machines that are no more than namespaces: processes, a network, mounts and a name of their own, a disk, and a root folder.
//! They start from the Ignition config that a discovery image carries, or from what was written onto their disk, by the real
//! Ignition; what runs on them is the product's own. Kernel, firmware and boot loader are those that they don't have.

mod containers;
mod hardware;
mod os_image;
mod programs;
mod system;

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assisted_lab_kinds::Outcomes;
use assisted_lab_tools::wait::{Wait, child};
use uuid::Uuid;

use crate::network::{self, GATEWAY, NetworkError, PREFIX, tap};
use hardware::Disk;
pub use programs::MachinePrograms;
pub use system::IGNITION;
use system::System;

/// Between two looks at a program of a machine.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a program of this computer may take that a machine needs to start.
const COMMAND: Duration = Duration::from_secs(60);
/// Bytes of a console that an error shows.
const TAIL: usize = 3000;
const CARD: &str = "eth0";

/// Why a machine does not run.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    #[error("{what} is missing: run `cargo xtask setup`")]
    Missing { what: String },
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("{command} failed: {said}")]
    Failed { command: String, said: String },
    #[error("{name} ended before {wanted}: {why}\nthe end of its console:\n{tail}")]
    Ended { name: String, wanted: String, why: String, tail: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl NamespaceError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// The description of a machine: identity, card, disk, medium, programs.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: String,
    /// The number of the machine's tap on the network.
    pub number: usize,
    /// Identity of the machine: its SMBIOS system UUID.
    pub uuid: Uuid,
    /// `52:54:00:…`
    pub mac: String,
    pub address: Ipv4Addr,
    /// Sparse.
    pub disk_bytes: u64,
    pub medium: Medium,
    /// Whether that is tried before the disk.
    pub medium_first: bool,
    pub programs: MachinePrograms,
    /// How the installation of operators ends in its cluster.
    pub outcomes: Outcomes,
    /// Whether its disk has folders for partitions, and it starts from the image that was laid into them.
    pub image_mode: bool,
    /// Certificates in PEM form that its programs trust besides those that they are told.
    pub authorities: Option<PathBuf>,
}

/// What a machine starts from as long as nothing is installed on its disk.
#[derive(Clone, Debug)]
pub enum Medium {
    /// The image in its drive, which carries an Ignition config.
    Image(PathBuf),
    /// What an infrastructure gives to a machine with a disk image: an Ignition config, and a folder that is its config drive. Nobody has
    /// named the machine then.
    UserData { config: PathBuf, drive: PathBuf },
}

/// A running machine, which restarts by itself. It is killed when this is dropped.
#[derive(Debug)]
pub struct Machine {
    name: String,
    console: PathBuf,
    namespace: String,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    /// It is not to start again by itself.
    stays_off: AtomicBool,
    /// Why it runs no more.
    ended: Mutex<Option<String>>,
}

impl Machine {
    /// Starts a machine on a network; its disk and `console.log` stand in `dir`, which is made. A disk that is there already is
    /// kept: that is how a machine is started again.
    pub fn start(network: &str, spec: Spec, dir: &Path) -> Result<Self, NamespaceError> {
        std::fs::create_dir_all(dir).map_err(NamespaceError::io(dir))?;
        let console = dir.join("console.log");
        let log =
            File::options().create(true).append(true).open(&console).map_err(NamespaceError::io(&console))?;
        let namespace = network::of_machine(network, spec.number);
        plug_in(network, &namespace, &spec)?;
        let (name, state) = (spec.name.clone(), Arc::new(State::default()));
        let running = Running {
            disk: Disk::open(dir, spec.disk_bytes)?,
            system: System::new(dir, &spec)?,
            spec,
            namespace: namespace.clone(),
            console: log,
            state: Arc::clone(&state),
        };
        let thread = std::thread::Builder::new().name(name.clone()).spawn(move || running.live());
        let thread = Some(thread.map_err(NamespaceError::io(dir))?);
        Ok(Self { name, console, namespace, state, thread })
    }

    /// Has it stay off when it restarts next: it starts too quickly to be switched off in time.
    pub fn stay_off(&self) {
        self.state.stays_off.store(true, Ordering::Relaxed);
    }

    /// Fails when it runs no more, for whoever waits for what is `wanted`.
    pub fn must_live(&mut self, wanted: &str) -> Result<(), NamespaceError> {
        let ended = self.state.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(why) = ended else { return Ok(()) };
        let text = std::fs::read(&self.console).unwrap_or_default();
        let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(TAIL)..]).into_owned();
        Err(NamespaceError::Ended { name: self.name.clone(), wanted: wanted.to_owned(), why, tail })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        network::remove(&self.namespace);
    }
}

/// Makes the machine's network: one card, plugged into the network.
fn plug_in(network: &str, namespace: &str, spec: &Spec) -> Result<(), NamespaceError> {
    let ip = |words: &[&str]| network::ip(words).map(drop);
    network::remove(namespace);
    ip(&["netns", "add", namespace])?;
    let port = tap(spec.number);
    // The kernel takes the card of an earlier start away a while after its namespace; there may be none.
    let _ = ip(&["-n", network, "link", "delete", &port]);
    let far = ["peer", "name", &port, "netns", network];
    let card = ["link", "add", CARD, "address", &spec.mac, "netns", namespace, "type", "veth"];
    ip(&[&card[..], &far].concat())?;
    ip(&["-n", network, "link", "set", &port, "master", network::BRIDGE, "up"])?;
    for link in ["lo", CARD] {
        ip(&["-n", namespace, "link", "set", link, "up"])?;
    }
    Ok(())
}

/// Why a machine's system ended.
enum End {
    Restarts,
    SwitchedOff,
}

struct Running {
    spec: Spec,
    namespace: String,
    console: File,
    disk: Disk,
    system: System,
    state: Arc<State>,
}

impl Running {
    fn live(self) {
        loop {
            match self.once() {
                Ok(End::Restarts) if !self.state.stays_off.load(Ordering::Relaxed) => {}
                Ok(End::Restarts) => return,
                Ok(End::SwitchedOff) => return,
                Err(error) => {
                    let why = Some(error.to_string());
                    *self.state.ended.lock().unwrap_or_else(PoisonError::into_inner) = why;
                    return;
                }
            }
        }
    }

    /// One start, and all that runs until the next one.
    fn once(&self) -> Result<End, NamespaceError> {
        self.address()?;
        let first = self.disk.read()?;
        let from_disk = first.is_some() && !self.spec.medium_first;
        let config = match first {
            Some(config) if from_disk => config,
            _ => Some(self.system.of_medium()?),
        };
        let root = self.system.root(from_disk);
        if let Some(config) = config {
            self.system.make(&root)?;
            if from_disk {
                self.system.lay_image(&root)?;
            }
            for stage in ["fetch", "files"] {
                let mut command = self.system.ignition(&self.namespace, &root, stage, &config)?;
                match self.run(&mut command)? {
                    Some(status) if status.success() => {}
                    Some(status) => return Err(failed("ignition", status)),
                    None => return Ok(End::SwitchedOff),
                }
            }
            if from_disk {
                self.disk.forget_config()?;
            }
        } else {
            // Another image may have been laid onto the disk meanwhile.
            self.system.lay_image(&root)?;
        }
        let mut command = self.system.command(&self.namespace, &root, self.disk.device())?;
        match self.run(&mut command)? {
            Some(status) if status.success() => Ok(End::Restarts),
            Some(status) => Err(failed("its first program", status)),
            None => Ok(End::SwitchedOff),
        }
    }

    /// Gives the machine the address that DHCP would give it, and nothing that an earlier start has added.
    fn address(&self) -> Result<(), NamespaceError> {
        let own = format!("{}/{PREFIX}", self.spec.address);
        let gateway = GATEWAY.to_string();
        for words in [
            &["address", "flush", "dev", CARD, "scope", "global"][..],
            &["address", "add", &own, "dev", CARD],
            &["route", "replace", "default", "via", &gateway],
        ] {
            network::ip(&[&["-n", &self.namespace], words].concat())?;
        }
        Ok(())
    }

    /// Runs a program of the machine to its end; `None` when the machine was switched off meanwhile.
    fn run(&self, command: &mut Command) -> Result<Option<ExitStatus>, NamespaceError> {
        let program = PathBuf::from(command.get_program());
        let io = || NamespaceError::io(&program);
        let console = || self.console.try_clone().map_err(io());
        command.stdin(Stdio::null()).stdout(console()?).stderr(console()?);
        let mut child = command.spawn().map_err(io())?;
        loop {
            if let Some(status) = child.try_wait().map_err(io())? {
                return Ok(Some(status));
            }
            if self.state.stop.load(Ordering::Relaxed) {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// What a program of this computer answers.
fn answer(command: &mut Command, what: &str) -> Result<Vec<u8>, NamespaceError> {
    let failed = |said: String| NamespaceError::Failed { command: what.to_owned(), said };
    let mut wait = Wait::new(what, "the kernel's log", COMMAND);
    let output = child::output(command, &mut wait).map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

fn failed(what: &str, status: ExitStatus) -> NamespaceError {
    NamespaceError::Failed { command: what.to_owned(), said: status.to_string() }
}
