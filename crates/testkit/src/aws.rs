//! Services of AWS: moto (PyPI), which keeps buckets in memory.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use tempfile::TempDir;

use crate::listener::await_listener;
use crate::shared::shared;
use crate::{Error, Port, python, tied};

const PROGRAM: &str = "moto_server";

/// A running server. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct AwsServer {
    child: Child,
    /// Its address.
    pub url: String,
    log: PathBuf,
    _dir: TempDir,
    _port: Port,
}

impl AwsServer {
    /// Starts a server without buckets; it takes any credentials.
    ///
    /// # Errors
    /// When moto is not installed, or does not listen in time.
    pub fn start() -> Result<Self, Error> {
        let missing = |_| Error::NotInstalled { program: PROGRAM };
        let program = python().map_err(missing)?.with_file_name(PROGRAM);
        let (port, dir) = (Port::free()?, tempfile::tempdir()?);
        let log = dir.path().join("moto.log");
        let number = port.number;
        let child = tied(&program)
            .args(["-H", "127.0.0.1", "-p", &number.to_string()])
            .env("TMPDIR", dir.path())
            .env("NO_PROXY", "*")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()
            .map_err(|source| Error::Run { program: PROGRAM, source })?;
        let url = format!("http://127.0.0.1:{number}");
        let mut server = Self { child, url, log, _dir: dir, _port: port };
        await_listener(&mut server.child, ([127, 0, 0, 1], number).into(), &server.log)?;
        Ok(server)
    }

    /// Starts a server that lives as long as the process: for tests that share one.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn shared() -> Result<String, Error> {
        shared(Self::start, |server| server.url.clone())
    }
}

impl Drop for AwsServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
