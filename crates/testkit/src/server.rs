//! `assisted serve`: a process of its own, on a free port.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::{Error, tied};

/// How long the service may take until it listens.
const START: Duration = Duration::from_secs(60);

/// A running service. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Its address for clients, without a slash at the end.
    url: String,
    address: SocketAddr,
    log: PathBuf,
    /// What it says after where it listens.
    said: Mutex<mpsc::Receiver<String>>,
}

impl Server {
    /// Starts a program with its data in a folder; `more` adds options and environment. Its log is `service.log` in the
    /// folder, with what it logged there before.
    pub fn start(program: &Path, dir: &Path, more: impl FnOnce(&mut Command)) -> Result<Self, Error> {
        Self::start_at(program, ([127, 0, 0, 1], 0).into(), dir, more)
    }

    /// The same at an address where others look for it, also when it is started again.
    pub fn start_at(
        program: &Path,
        listen: SocketAddr,
        dir: &Path,
        more: impl FnOnce(&mut Command),
    ) -> Result<Self, Error> {
        let log = dir.join("service.log");
        let mut command = tied(program);
        command.args(["serve", "--listen", &listen.to_string(), "--data-dir"]).arg(dir);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(std::fs::File::options().create(true).append(true).open(&log)?);
        more(&mut command);
        let mut child = command.spawn().map_err(|source| Error::Run { program: "assisted", source })?;
        let stdout = child.stdout.take();
        let (told, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines =
                stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines().map_while(Result::ok));
            // Whether somebody listens or not, the pipe must not fill.
            lines.for_each(|line| drop(told.send(line)));
        });
        let line = lines.recv_timeout(START).unwrap_or_default();
        let (url, address) = (String::new(), ([127, 0, 0, 1], 0).into());
        let mut server = Self { child, url, address, log, said: Mutex::new(lines) };
        let told = line.split_whitespace().find_map(|word| {
            let address = word.strip_prefix("http://").or_else(|| word.strip_prefix("https://"))?;
            Some((word.to_owned(), address.parse().ok()?))
        });
        (server.url, server.address) = told.ok_or_else(|| Error::Silent { log: server.log() })?;
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address for clients, without a slash at the end.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line on its standard output with these words in it; `None` when it ends, or takes too long.
    pub fn wait_for_line(&self, words: &str) -> Option<String> {
        let lines = self.said.lock().ok()?;
        loop {
            let line = lines.recv_timeout(START).ok()?;
            if line.contains(words) {
                return Some(line);
            }
        }
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends it a signal; does nothing when it has ended.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) -> std::io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(&mut self) -> std::io::Result<ExitStatus> {
        self.signal(Signal::TERM);
        self.child.wait()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands in for the service. Not written by the test: a file that any thread has just written can't be run yet.
    fn program(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
    }

    #[test]
    fn the_address_is_what_the_service_tells() {
        let dir = tempfile::tempdir().unwrap();
        let mut server = Server::start(&program("starts.sh"), dir.path(), |command| {
            command.arg("--more").env("PORT", "77");
        })
        .unwrap();
        assert_eq!(server.url(), "http://127.0.0.1:77");
        assert!(!server.stop().unwrap().success());
        let log = std::fs::read_to_string(dir.path().join("service.log")).unwrap();
        assert!(log.contains("serve --listen 127.0.0.1:0") && log.contains("--more"), "{log}");
    }

    #[test]
    fn a_service_that_does_not_start_tells_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let error = Server::start(&program("refuses.sh"), dir.path(), |_| {});
        assert!(matches!(error, Err(Error::Silent { log }) if log.contains("no disk")));
    }
}
