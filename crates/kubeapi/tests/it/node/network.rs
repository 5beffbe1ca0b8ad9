//! A network of the test's own, with one of each pod in it.

use std::net::Ipv4Addr;
use std::process::Command;

/// Tells a process that it is on a network of its own.
const OWN: &str = "ASSISTED_TEST_NODE";

/// Where pods reach the node.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 1);

/// Whether this process is on a network of its own, where every address and every port is free. If it is not, the test of this name is
/// run once more in a process that is, and has to succeed there.
pub fn is_own(test: &str) -> bool {
    if std::env::var_os(OWN).is_some() {
        return true;
    }
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/", "--proc", "/proc", "--tmpfs", "/run", "--unshare-net"]);
    command.args(["--unshare-pid", "--die-with-parent", "--cap-add", "ALL", "--setenv", OWN, "1"]);
    command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    let ran = command.output().expect("bubblewrap is missing: run `cargo xtask setup`");
    let text = String::from_utf8_lossy(&ran.stdout);
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && text.contains("1 passed"), "run it as root\n{text}\n{told}");
    false
}

/// Gives the node the address at which pods find it.
pub(super) fn prepare() {
    add_address(GATEWAY);
}

/// An address of this machine alone.
pub(super) fn add_address(address: Ipv4Addr) {
    ip(&["address", "add", &format!("{address}/32"), "dev", "lo"]);
}

fn ip(args: &[&str]) {
    let output = Command::new("ip").args(args).output().expect("`ip` is missing: run `cargo xtask setup`");
    assert!(output.status.success(), "ip {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The network of a pod: its own loopback, and a cable to the node.
pub(super) struct PodNetwork {
    name: String,
    pub(super) address: Ipv4Addr,
}

impl PodNetwork {
    pub(super) fn new(number: u8) -> Self {
        let network = Self { name: format!("pod{number}"), address: Ipv4Addr::new(10, 128, 1, number) };
        let (name, address) = (network.name.as_str(), network.address.to_string());
        let gateway = GATEWAY.to_string();
        ip(&["netns", "add", name]);
        ip(&["link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name]);
        ip(&["link", "set", name, "up"]);
        ip(&["route", "add", &format!("{address}/32"), "dev", name, "src", &gateway]);
        for args in [
            &["link", "set", "lo", "up"][..],
            &["address", "add", &format!("{address}/16"), "dev", "eth0"],
            &["link", "set", "eth0", "up"],
            &["route", "add", "default", "via", &gateway],
        ] {
            ip(&[&["-n", name], args].concat());
        }
        network
    }

    /// A command that is run in it, by this process and no other.
    pub(super) fn command(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new("ip");
        command.args(["netns", "exec", &self.name]);
        command
    }
}

impl Drop for PodNetwork {
    fn drop(&mut self) {
        ip(&["netns", "delete", &self.name]);
    }
}
