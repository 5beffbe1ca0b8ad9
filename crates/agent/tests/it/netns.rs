//! Networks to look at: namespaces of the kernel, joined by cables and switches, with a wire that loses and delays.

use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::socket::{LinkAddr, SockaddrLike, bind, recvfrom};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// One namespace; it goes with this value.
pub(crate) struct Space(String);

fn ip(args: &[&str]) {
    let output = Command::new("ip").args(args).output().expect("`ip` is missing: run `cargo xtask setup`");
    assert!(output.status.success(), "ip {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Namespaces need root, which tests of this crate have in CI.
fn must_be_root() {
    assert!(rustix::process::geteuid().is_root(), "network namespaces need root: run these tests as root");
}

impl Space {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        must_be_root();
        let name = format!("at{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        ip(&["netns", "add", &name]);
        let space = Self(name);
        space.ip(&["link", "set", "lo", "up"]);
        space
    }

    pub(crate) fn ip(&self, args: &[&str]) {
        ip(&[&["-n", &self.0], args].concat());
    }

    /// A cable to another namespace; both ends are up.
    pub(crate) fn cable(&self, own: &str, other: &Self, peer: &str) {
        ip(&["link", "add", own, "netns", &self.0, "type", "veth", "peer", "name", peer, "netns", &other.0]);
        for (space, end) in [(self, own), (other, peer)] {
            space.ip(&["link", "set", end, "up"]);
        }
    }

    /// A switch in this namespace, with these ends of cables as its ports.
    pub(crate) fn switch(&self, ports: &[&str]) {
        self.ip(&["link", "add", "sw", "type", "bridge", "forward_delay", "0"]);
        self.ip(&["link", "set", "sw", "up"]);
        for port in ports {
            self.ip(&["link", "set", port, "master", "sw"]);
        }
    }

    pub(crate) fn mtu(&self, end: &str, mtu: u32) {
        self.ip(&["link", "set", end, "mtu", &mtu.to_string()]);
    }

    /// Gives an end an address; it can be used at once.
    pub(crate) fn address(&self, end: &str, cidr: &str) {
        let nodad: &[&str] = if cidr.contains(':') { &["nodad"] } else { &[] };
        self.ip(&[&["address", "add", cidr, "dev", end], nodad].concat());
    }

    pub(crate) fn mac(&self, end: &str) -> String {
        let output = Command::new("ip").args(["-n", &self.0, "-o", "link", "show", end]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut words = text.split_whitespace().skip_while(|word| *word != "link/ether");
        words.nth(1).unwrap().to_owned()
    }

    /// Waits until both kinds of addresses can be sent from: a fresh link takes a moment.
    pub(crate) fn reaches(&self, to: &str) {
        let to: IpAddr = to.parse().unwrap();
        let begin = Instant::now();
        loop {
            let echo = assisted_hostinfo::probe::Echo {
                rounds: assisted_hostinfo::probe::ProbeRounds {
                    count: 1,
                    spacing: Duration::ZERO,
                    wait: Duration::from_millis(200),
                },
                size: 8,
                device: None,
                whole: false,
            };
            let answers = self.inside(async move || assisted_hostinfo::probe::ping(&[to], echo).await);
            if answers.is_ok_and(|answers| answers[0].received > 0) {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{to} can't be reached");
        }
    }

    /// Does something in this namespace.
    pub(crate) fn inside<T: Send + 'static>(&self, work: impl AsyncFnOnce() -> T + Send + 'static) -> T {
        let name = self.0.clone();
        let thread = std::thread::spawn(move || {
            enter(&name);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work())
        });
        thread.join().unwrap()
    }

    /// A program that runs in this namespace as long as this value lives.
    pub(crate) fn daemon(&self, program: &str, args: &[&str], log: &Path) -> Daemon {
        let log = std::fs::File::create(log).unwrap();
        let child = Command::new("ip")
            .args(["netns", "exec", &self.0, program])
            .args(args)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Daemon(child)
    }

    /// Joins two ends in this namespace by a wire that holds each frame back for `delay`, and loses the frames that
    /// `lose` says, by their number among the echoes that go from the first to the second.
    pub(crate) fn wire(&self, ends: [&str; 2], delay: Duration, lose: fn(u32) -> bool) {
        for (from, to, counts) in [(ends[0], ends[1], true), (ends[1], ends[0], false)] {
            let (space, from, to) = (self.0.clone(), from.to_owned(), to.to_owned());
            let (ready, started) = mpsc::channel();
            std::thread::spawn(move || {
                enter(&space);
                let (input, output) = (frames(&from), frames(&to));
                ready.send(()).unwrap();
                let (sender, held) = mpsc::channel::<(Instant, Vec<u8>)>();
                std::thread::spawn(move || {
                    while let Ok((due, frame)) = held.recv() {
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                        let _ = rustix::net::send(&output, &frame, rustix::net::SendFlags::empty());
                    }
                });
                let mut echoes = 0;
                let mut buffer = vec![0; 64 << 10];
                // It ends with the namespace, whose interfaces go down.
                while let Ok((length, sent_by)) = recvfrom::<LinkAddr>(input.as_raw_fd(), &mut buffer) {
                    const OUTGOING: u8 = 4;
                    if sent_by.is_none_or(|from| from.pkttype() == OUTGOING) {
                        continue;
                    }
                    let frame = buffer[..length].to_vec();
                    let is_echo = counts && frame.len() > 34 && frame[12..14] == [8, 0] && frame[23] == 1;
                    let lost = is_echo && lose(echoes);
                    echoes += u32::from(is_echo);
                    if !lost && sender.send((Instant::now() + delay, frame)).is_err() {
                        return;
                    }
                }
            });
            started.recv().unwrap();
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

pub(crate) struct Daemon(std::process::Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Moves this thread, and what it starts, into a namespace.
fn enter(name: &str) {
    let file = std::fs::File::open(format!("/run/netns/{name}")).unwrap();
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(LinkNameSpaceType::Network)).unwrap();
}

fn frames(end: &str) -> std::os::fd::OwnedFd {
    let socket = rustix::net::socket_with(
        AddressFamily::PACKET,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(rustix::net::eth::ALL),
    )
    .unwrap();
    let address = nix::ifaddrs::getifaddrs()
        .unwrap()
        .filter(|interface| interface.interface_name == end)
        .filter_map(|interface| interface.address)
        .find(|address| address.as_link_addr().is_some())
        .unwrap();
    bind(socket.as_raw_fd(), &address as &dyn SockaddrLike).unwrap();
    socket
}
