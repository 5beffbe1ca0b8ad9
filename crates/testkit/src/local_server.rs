//! A server on a free port of this machine, with a folder of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::listener::await_listener;
use crate::{Error, Port, tied};

/// A running server. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub(crate) struct LocalServer {
    child: Child,
    /// Its address.
    pub(crate) url: String,
    _dir: TempDir,
    _port: Port,
}

impl LocalServer {
    /// Starts a program; `arguments` adds to its command, by its port and a folder for its files.
    pub(crate) fn start(
        name: &'static str,
        program: &Path,
        arguments: impl FnOnce(&mut Command, &str, &Path),
    ) -> Result<Self, Error> {
        let (port, dir) = (Port::free()?, tempfile::tempdir()?);
        let (number, log, files) = (port.number, dir.path().join("server.log"), dir.path().join("files"));
        std::fs::create_dir(&files)?;
        let mut command = tied(program);
        arguments(&mut command, &number.to_string(), &files);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()
            .map_err(|source| Error::Run { program: name, source })?;
        let url = format!("http://127.0.0.1:{number}");
        let mut server = Self { child, url, _dir: dir, _port: port };
        await_listener(&mut server.child, ([127, 0, 0, 1], number).into(), &log)?;
        Ok(server)
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
