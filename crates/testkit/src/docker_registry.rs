//! An image registry: Debian's `docker-registry`.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::{Error, tied};

/// How long it may take until it listens.
const START: Duration = Duration::from_secs(60);

const PROGRAM: &str = "docker-registry";

/// How a registry is reached.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Files with the certificates and the key in PEM form; without them it speaks plain HTTP.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Who may read.
    pub auth: Auth,
    /// Whether it listens on the loopback address of IPv6 alone.
    pub ipv6: bool,
}

/// Who may read.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    #[default]
    Anyone,
    /// User [`Auth::USER`] with the password [`Auth::PASSWORD`].
    Basic,
    /// Who has a token of an issuer, signed with the key of a certificate in a file.
    Token { realm: String, service: String, issuer: String, certificates: PathBuf },
}

impl Auth {
    pub const USER: &'static str = "reader";
    pub const PASSWORD: &'static str = "hunter2";
    /// The two as the registry keeps them.
    const HASHED: &'static str = "reader:$2b$04$1AlDffRRSUF1uJo1esizWuTj3WksT4bsvpVJAFCqCTFPsdh4H6fxK\n";
}

/// A running registry. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct DockerRegistry {
    child: Child,
    address: SocketAddr,
    /// Its settings.
    _settings: tempfile::TempDir,
}

impl DockerRegistry {
    /// Starts a registry on a free port. It keeps its images in a folder, which several may share.
    pub fn start(images: &Path, access: &Access) -> Result<Self, Error> {
        let program =
            assisted_lab_tools::docker_registry().ok_or(Error::NotInstalled { program: PROGRAM })?;
        let settings = tempfile::Builder::new().prefix("assisted-registry-").tempdir()?;
        let path = settings.path().join("config.yml");
        std::fs::write(&path, text(images, access, settings.path())?)?;
        let mut command = tied(&program);
        command.arg("serve").arg(&path).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| Error::Run { program: PROGRAM, source })?;
        let stderr = child.stderr.take();
        let mut registry = Self { child, address: ([127, 0, 0, 1], 0).into(), _settings: settings };
        let (told, listens) = mpsc::channel();
        thread::spawn(move || {
            let mut log = String::new();
            let lines = stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines());
            let mut lines = lines.map_while(Result::ok);
            let address = lines.find_map(|line| {
                let _ = writeln!(log, "{line}");
                listening(&line)
            });
            let _ = told.send(address.ok_or(log));
            // The pipe must not fill.
            lines.for_each(drop);
        });
        let answer = listens.recv_timeout(START).unwrap_or_else(|_| Err(String::new()));
        registry.address = answer.map_err(|log| Error::Silent { log })?;
        Ok(registry)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its name in the names of images.
    pub fn name(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        // Fails only when it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in what it says when it listens.
fn listening(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening on ")?;
    rest.split(['"', ',', ' ']).next()?.parse().ok()
}

fn text(images: &Path, access: &Access, dir: &Path) -> Result<String, Error> {
    let host = if access.ipv6 { "[::1]" } else { "127.0.0.1" };
    let mut text = format!(
        "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {images}}}}}\n\
         http:\n  addr: '{host}:0'\n  secret: none\n",
        images = images.display(),
    );
    if let Some((certificates, key)) = &access.tls {
        let (certificates, key) = (certificates.display(), key.display());
        let _ = writeln!(text, "  tls: {{certificate: {certificates}, key: {key}}}");
    }
    match &access.auth {
        Auth::Anyone => {}
        Auth::Basic => {
            let path = dir.join("users");
            std::fs::write(&path, Auth::HASHED)?;
            let _ = writeln!(text, "auth: {{htpasswd: {{realm: test, path: {}}}}}", path.display());
        }
        Auth::Token { realm, service, issuer, certificates } => {
            let certificates = certificates.display();
            let _ = writeln!(
                text,
                "auth: {{token: {{realm: '{realm}', service: {service}, issuer: {issuer}, rootcertbundle: {certificates}}}}}"
            );
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn comes_and_goes() {
        let dir = tempfile::tempdir().unwrap();
        for ipv6 in [false, true] {
            let registry = DockerRegistry::start(dir.path(), &Access { ipv6, ..Access::default() }).unwrap();
            let address = registry.address();
            assert_eq!(address.is_ipv6(), ipv6);
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /v2/ HTTP/1.0\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.contains("200 OK"), "{answer}");
            drop(registry);
            assert!(TcpStream::connect(address).is_err());
        }
    }
}
