//! A network of the lab's own: a bridge in a network namespace, with everything on it that machines expect of a real one:
//! addresses by DHCP, names, the time, images of containers. Nothing of it is visible outside the namespace, and nothing
//! leaves it.

mod machine;
mod names;
mod port_forward;
mod registry;
mod running;
mod time;

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::wait::child::{self, ChildError};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub(crate) use machine::{of_machine, remove_machines};
pub use names::Names;
pub use registry::REGISTRY;
pub use running::Running;

/// How long the kernel may take for a change of its network.
const COMMAND: Duration = Duration::from_secs(60);

/// What is at `.1`: DHCP, names, the time, the registry, and whatever else is started in the namespace.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 126, 1);
/// Where a cluster of several nodes has its API, and its applications.
pub const API_VIP: Ipv4Addr = Ipv4Addr::new(192, 168, 126, 5);
pub const INGRESS_VIP: Ipv4Addr = Ipv4Addr::new(192, 168, 126, 6);
/// Bits of the network's addresses that are the same.
pub const PREFIX: u8 = 24;

pub(crate) const BRIDGE: &str = "lab0";

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error("a network of its own needs root: run this as root")]
    NotRoot,
    #[error("{program} is not installed: run `cargo xtask setup`")]
    Missing { program: &'static str },
    #[error("{command} failed: {said}")]
    Failed { command: String, said: String },
    #[error("network card {card} has addresses: choose one that nothing else uses")]
    InUse { card: String },
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

/// How the cards of machines are attached to a network.
#[derive(Clone, Copy, Debug)]
pub enum NicAttachment<'a> {
    /// A tap for each of them.
    Taps,
    /// None: each attachment itself in, under the name that its tap would have.
    Own,
    /// A card of this computer that nothing else uses; it belongs to the network as long as that lasts.
    Card(&'a str),
}

/// A network. It goes, with all that runs in it, when this is dropped.
#[derive(Debug)]
pub struct Network {
    namespace: String,
    /// The card of this computer that is in it.
    card: Option<String>,
    /// Servers in it, the first of which ends last.
    servers: Vec<Running>,
}

impl Network {
    /// Makes a network for its members; servers keep their files in `dir`. What an earlier process left of a network of this
    /// name is removed.
    pub fn start(
        name: &str,
        names: &Names,
        members: &[Member],
        attachment: NicAttachment<'_>,
        dir: &Path,
    ) -> Result<Self, NetworkError> {
        if !rustix::process::geteuid().is_root() {
            return Err(NetworkError::NotRoot);
        }
        remove(name);
        remove_machines(name);
        ip(&["netns", "add", name])?;
        let mut network = Self { namespace: name.to_owned(), card: None, servers: Vec::new() };
        let resolver = settings(name).join("resolv.conf");
        std::fs::create_dir_all(settings(name)).map_err(NetworkError::io(&resolver))?;
        std::fs::write(&resolver, format!("nameserver {GATEWAY}\n")).map_err(NetworkError::io(&resolver))?;
        let inside = |words: &[&str]| ip(&[&["-n", name], words].concat());
        let address = format!("{GATEWAY}/{PREFIX}");
        inside(&["link", "set", "lo", "up"])?;
        inside(&["link", "add", BRIDGE, "type", "bridge"])?;
        inside(&["address", "add", &address, "dev", BRIDGE])?;
        inside(&["link", "set", BRIDGE, "up"])?;
        match attachment {
            NicAttachment::Taps => {
                for number in 0..members.len() {
                    let tap = tap(number);
                    inside(&["tuntap", "add", &tap, "mode", "tap"])?;
                    inside(&["link", "set", &tap, "master", BRIDGE, "up"])?;
                }
            }
            NicAttachment::Own => {}
            NicAttachment::Card(card) => {
                must_be_free(card)?;
                ip(&["link", "set", card, "netns", name])?;
                network.card = Some(card.to_owned());
                inside(&["link", "set", card, "master", BRIDGE, "up"])?;
            }
        }
        for server in [names.server(members, dir)?, time::server(dir)?, registry::server(dir)?] {
            let server = server.start(&network)?;
            network.servers.push(server);
        }
        Ok(network)
    }

    /// Runs a program inside the network; it is killed when the thread that starts it ends.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        inside(&self.namespace, program)
    }

    /// Does something in the network that is no program of its own.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetworkError> {
        within(&self.namespace(), work)
    }

    /// Cuts a member off, or connects it again.
    pub fn connect(&self, member: usize, connected: bool) -> Result<(), NetworkError> {
        let state = if connected { "up" } else { "down" };
        ip(&["-n", &self.namespace, "link", "set", &tap(member), state]).map(drop)
    }

    /// Fails when one of its servers has ended.
    pub fn must_live(&mut self) -> Result<(), NetworkError> {
        self.servers.iter_mut().try_for_each(Running::must_live)
    }

    /// The name of its namespace.
    pub fn name(&self) -> &str {
        &self.namespace
    }

    /// The network's namespace, as an open file.
    pub fn namespace(&self) -> PathBuf {
        path(&self.namespace)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        while let Some(server) = self.servers.pop() {
            drop(server);
        }
        if let Some(card) = &self.card
            && let Err(error) = ip(&["-n", &self.namespace, "link", "set", card, "netns", "1"])
        {
            tracing::warn!(%error, card, "is given back when the network is gone");
        }
        remove(&self.namespace);
    }
}

/// Fails when a card of this computer has addresses: whoever took it might cut themselves off.
fn must_be_free(card: &str) -> Result<(), NetworkError> {
    let shown = ip(&["-o", "address", "show", "dev", card, "scope", "global"])?;
    match shown.trim().is_empty() {
        true => Ok(()),
        false => Err(NetworkError::InUse { card: card.to_owned() }),
    }
}

fn within<T: Send>(namespace: &Path, work: impl FnOnce() -> T + Send) -> Result<T, NetworkError> {
    let file = File::open(namespace).map_err(NetworkError::io(namespace))?;
    let enter = || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| NetworkError::io(namespace)(error.into()))?;
        Ok(work())
    };
    // A thread of its own: the rest of this process stays where it is.
    let done = std::thread::scope(|scope| scope.spawn(enter).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Does something in the network of a machine.
pub(crate) fn within_machine<T: Send>(
    network: &str,
    number: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, NetworkError> {
    within(&path(&of_machine(network, number)), work)
}

/// The tap of a member.
pub fn tap(member: usize) -> String {
    format!("tap{member}")
}

/// The path of a namespace of this name.
fn path(namespace: &str) -> PathBuf {
    Path::new("/run/netns").join(namespace)
}

/// A command inside a namespace, which asks the network's own server for names; it is killed when the thread that starts it
/// ends.
pub(crate) fn inside(namespace: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, "setpriv", "--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// What programs inside a namespace see in place of this computer's settings of the same name.
fn settings(namespace: &str) -> PathBuf {
    Path::new("/etc/netns").join(namespace)
}

/// Removes a namespace, if it is there; links in it go with it.
pub fn remove(namespace: &str) {
    if path(namespace).exists()
        && let Err(error) = ip(&["netns", "delete", namespace])
    {
        tracing::warn!(%error, namespace, "stays");
    }
    let settings = settings(namespace);
    if settings.exists()
        && let Err(error) = std::fs::remove_dir_all(&settings)
    {
        tracing::warn!(%error, settings = %settings.display(), "stay");
    }
}

pub(crate) fn ip(words: &[&str]) -> Result<String, NetworkError> {
    let command = format!("ip {}", words.join(" "));
    let mut wait = Wait::new(&command, "the kernel's log", COMMAND);
    let Output { status, stdout, stderr } = match child::output(Command::new("ip").args(words), &mut wait) {
        Ok(output) => output,
        Err(ChildError::Io(_)) => return Err(NetworkError::Missing { program: "ip" }),
        Err(ChildError::Late(late)) => return Err(NetworkError::Failed { command, said: late.to_string() }),
    };
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    Err(NetworkError::Failed { command, said })
}
