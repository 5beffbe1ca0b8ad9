//! A second server that speaks as S3 does: s3s-fs (crates.io), which keeps files in a folder and verifies each signature.

use assisted_lab_tools::s3s_fs;

use crate::Error;
use crate::local_server::LocalServer;
use crate::shared::shared;

const PROGRAM: &str = "s3s-fs";

/// A running server. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct S3Server {
    _server: LocalServer,
    /// Its address.
    pub url: String,
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
        let server = LocalServer::start(PROGRAM, &program, |command, port, files| {
            command
                .args(["--host", "127.0.0.1", "--port", port])
                .args(["--access-key", Self::ACCESS_KEY, "--secret-key", Self::SECRET_KEY])
                .arg(files);
        })?;
        Ok(Self { url: server.url.clone(), _server: server })
    }

    /// Starts a server that lives as long as the process: for tests that share one.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn shared() -> Result<String, Error> {
        shared(Self::start, |server| server.url.clone())
    }
}
