//! A server in a network: started, watched, and gone with whoever started it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Network, NetworkError};

/// Bytes of a log that an error shows.
const TAIL: usize = 2000;

/// A server of the network that is to be started: program, arguments, log.
pub(super) struct Server {
    pub(super) program: &'static str,
    pub(super) arguments: Vec<String>,
    pub(super) log: PathBuf,
}

/// A program that runs. It is ended when this is dropped.
#[derive(Debug)]
pub struct Running {
    program: String,
    child: Child,
    log: PathBuf,
}

impl Server {
    pub(super) fn start(self, network: &Network) -> Result<Running, NetworkError> {
        let mut command = network.command(self.program);
        command.args(&self.arguments);
        Running::start(self.program, &mut command, &self.log)
    }
}

impl Running {
    /// Starts a program that reads nothing and writes into a log.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self, NetworkError> {
        let file = File::options().create(true).append(true).open(log).map_err(NetworkError::io(log))?;
        let errors = file.try_clone().map_err(NetworkError::io(log))?;
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        let child = command.spawn().map_err(|_| NetworkError::Missing { program: "nsenter" })?;
        Ok(Self { program: name.to_owned(), child, log: log.to_owned() })
    }

    /// Fails when it has ended.
    pub fn must_live(&mut self) -> Result<(), NetworkError> {
        let status = match self.child.try_wait() {
            Ok(None) => return Ok(()),
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let text = std::fs::read(&self.log).unwrap_or_default();
        let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(TAIL)..]).trim().to_owned();
        Err(NetworkError::Ended { program: self.program.clone(), status, log: self.log.clone(), tail })
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
