//! A second server that speaks as S3 does: s3s-fs (crates.io), which keeps files in a folder and verifies each signature.

use assisted_lab_tools::s3s_fs;

use crate::Error;
use crate::bucket::{ACCESS_KEY, Bucket, SECRET_KEY, SharedServer};
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
    /// Starts a server without buckets.
    ///
    /// # Errors
    /// When it is not installed, or does not listen in time.
    pub fn start() -> Result<Self, Error> {
        let program = s3s_fs().map_err(|_| Error::NotInstalled { program: PROGRAM })?;
        let server = LocalServer::start(PROGRAM, &program, |command, port, files| {
            command
                .args(["--host", "127.0.0.1", "--port", port])
                .args(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
                .arg(files);
        })?;
        Ok(Self { url: server.url.clone(), _server: server })
    }

    /// A bucket that no other test uses, of a server that all tests of this process share; it is not made yet.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn bucket() -> Result<Bucket, Error> {
        static SERVER: SharedServer = SharedServer::new();
        Bucket::on(&SERVER, || shared(Self::start, |server| server.url.clone()))
    }
}
