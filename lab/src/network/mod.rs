//! A network of the lab's own: a bridge in a network namespace, with everything on it that machines expect of a real one:
//! addresses by DHCP, names, the time, images of containers. Nothing of it is visible outside the namespace, and nothing
//! leaves it.

mod names;
mod registry;
mod running;
mod time;

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub use names::Names;
pub use registry::REGISTRY;
pub use running::Running;

/// What is at `.1`: DHCP, names, the time, the registry, and whatever else is started in the namespace.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 126, 1);
/// Where a cluster of several nodes has its API, and its applications.
pub const API_VIP: Ipv4Addr = Ipv4Addr::new(192, 168, 126, 5);
pub const INGRESS_VIP: Ipv4Addr = Ipv4Addr::new(192, 168, 126, 6);
/// Bits of the network's addresses that are the same.
pub const PREFIX: u8 = 24;

const BRIDGE: &str = "lab0";

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error("a network of its own needs root: run this as root")]
    NotRoot,
    #[error("{program} is not installed: run `cargo xtask setup`")]
    Missing { program: &'static str },
    #[error("{command} failed: {said}")]
    Failed { command: String, said: String },
    #[error("{program} ended ({status}); its log {log} ends so:\n{tail}")]
    Ended { program: String, status: String, log: PathBuf, tail: String },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl NetworkError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// What is on a network beside its gateway.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    /// `52:54:00:…`
    pub mac: String,
    /// The address that it is given when it asks.
    pub address: Ipv4Addr,
}

/// A network. It goes, with all that runs in it, when this is dropped.
#[derive(Debug)]
pub struct Network {
    namespace: String,
    /// Servers in it, the first of which ends last.
    servers: Vec<Running>,
}

impl Network {
    /// Makes a network, with a tap for each of its members; servers keep their files in `dir`. What an earlier process left of
    /// a network of this name is removed.
    pub fn start(name: &str, names: &Names, members: &[Member], dir: &Path) -> Result<Self, NetworkError> {
        if !rustix::process::geteuid().is_root() {
            return Err(NetworkError::NotRoot);
        }
        remove(name);
        ip(&["netns", "add", name])?;
        let mut network = Self { namespace: name.to_owned(), servers: Vec::new() };
        let inside = |words: &[&str]| ip(&[&["-n", name], words].concat());
        let address = format!("{GATEWAY}/{PREFIX}");
        inside(&["link", "set", "lo", "up"])?;
        inside(&["link", "add", BRIDGE, "type", "bridge"])?;
        inside(&["address", "add", &address, "dev", BRIDGE])?;
        inside(&["link", "set", BRIDGE, "up"])?;
        for number in 0..members.len() {
            let tap = tap(number);
            inside(&["tuntap", "add", &tap, "mode", "tap"])?;
            inside(&["link", "set", &tap, "master", BRIDGE, "up"])?;
        }
        for server in [names.server(members, dir)?, time::server(dir)?, registry::server(dir)?] {
            let server = server.start(&network)?;
            network.servers.push(server);
        }
        Ok(network)
    }

    /// Runs a program inside the network; it is killed when the thread that starts it ends.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        inside(&self.namespace(), program)
    }

    /// Does something in the network that is no program of its own.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetworkError> {
        let namespace = self.namespace();
        let file = File::open(&namespace).map_err(NetworkError::io(&namespace))?;
        let enter = || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|error| NetworkError::io(&namespace)(error.into()))?;
            Ok(work())
        };
        // A thread of its own: the rest of this process stays where it is.
        let done = std::thread::scope(|scope| scope.spawn(enter).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Cuts a member off, or connects it again.
    pub fn connect(&self, member: usize, connected: bool) -> Result<(), NetworkError> {
        let state = if connected { "up" } else { "down" };
        ip(&["-n", &self.namespace, "link", "set", &tap(member), state])
    }

    /// Fails when one of its servers has ended.
    pub fn must_live(&mut self) -> Result<(), NetworkError> {
        self.servers.iter_mut().try_for_each(Running::must_live)
    }

    /// Its namespace, as a file that programs are started in.
    pub fn namespace(&self) -> PathBuf {
        path(&self.namespace)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        while let Some(server) = self.servers.pop() {
            drop(server);
        }
        remove(&self.namespace);
    }
}

/// The tap of a member.
pub fn tap(member: usize) -> String {
    format!("tap{member}")
}

/// Where a namespace of this name is.
pub fn path(namespace: &str) -> PathBuf {
    Path::new("/run/netns").join(namespace)
}

/// A command inside a namespace; it is killed when the thread that starts it ends.
pub(crate) fn inside(namespace: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", namespace.display()));
    command.args(["--", "setpriv", "--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Removes a namespace, if it is there; links in it go with it.
pub fn remove(namespace: &str) {
    if path(namespace).exists()
        && let Err(error) = ip(&["netns", "delete", namespace])
    {
        tracing::warn!(%error, namespace, "stays");
    }
}

fn ip(words: &[&str]) -> Result<(), NetworkError> {
    let run = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let Output { status, stderr, .. } = run.map_err(|_| NetworkError::Missing { program: "ip" })?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    Err(NetworkError::Failed { command: format!("ip {}", words.join(" ")), said })
}
