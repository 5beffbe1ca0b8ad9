//! A second server that speaks as S3 does: s3s-fs (crates.io), which keeps files in a folder and verifies each signature.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use assisted_lab_tools::s3s_fs;
use tempfile::TempDir;

use crate::listener::await_listener;
use crate::shared::shared;
use crate::{Error, Port, tied};

const PROGRAM: &str = "s3s-fs";

/// A running server. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct S3Server {
    child: Child,
    /// Its address.
    pub url: String,
    log: PathBuf,
    _dir: TempDir,
    _port: Port,
}

impl S3Server {
    /// Who is let in.
    pub const ACCESS_KEY: &'static str = "me";
    pub const SECRET_KEY: &'static str = "hush";

    /// Starts a server without buckets.
    ///
    /// # Errors
    /// When it is not installed, or does not listen in time.
    pub fn start() -> Result<Self, Error> {
        let program = s3s_fs().map_err(|_| Error::NotInstalled { program: PROGRAM })?;
        let (port, dir) = (Port::free()?, tempfile::tempdir()?);
        let (log, files, number) = (dir.path().join("log"), dir.path().join("files"), port.number);
        std::fs::create_dir(&files)?;
        let child = tied(&program)
            .args(["--host", "127.0.0.1", "--port", &number.to_string()])
            .args(["--access-key", Self::ACCESS_KEY, "--secret-key", Self::SECRET_KEY])
            .arg(&files)
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

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
