//! A DNS server: BIND's `named`, with one zone that takes dynamic updates signed with a key.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::listener::await_listener;
use crate::{Error, Port, tied};

const PROGRAM: &str = "named";

/// A running server. It is killed when this is dropped, and when the thread that started it ends.
#[derive(Debug)]
pub struct NameServer {
    child: Child,
    port: u16,
    _dir: TempDir,
    _port: Port,
}

impl NameServer {
    /// The key that may change the zone, and its secret.
    pub const KEY: (&'static str, &'static str) =
        ("installer.", "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiBETlMgcmVjb3Jkcw==");

    /// Starts a server on loopback with an empty zone of this name.
    ///
    /// # Errors
    /// When BIND is not installed, or does not listen in time.
    pub fn start(zone: &str) -> Result<Self, Error> {
        let program = program().ok_or(Error::NotInstalled { program: PROGRAM })?;
        let (port, dir) = (Port::free()?, tempfile::tempdir()?);
        let (number, path) = (port.number, dir.path());
        std::fs::write(path.join("zone"), first_zone())?;
        std::fs::write(path.join("named.conf"), configuration(path, number, zone))?;
        let log = path.join("named.log");
        // In the foreground, with its log on standard error.
        let mut child = tied(&program)
            .args(["-g", "-n", "1", "-c"])
            .arg(path.join("named.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()
            .map_err(|source| Error::Run { program: PROGRAM, source })?;
        await_listener(&mut child, ([127, 0, 0, 1], number).into(), &log)?;
        Ok(Self { child, port: number, _dir: dir, _port: port })
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The addresses of a name, as `dig` finds them.
    ///
    /// # Errors
    /// When `dig` is not installed, or fails.
    pub fn addresses(&self, name: &str, kind: &str) -> Result<Vec<String>, Error> {
        let port = self.port.to_string();
        let output = Command::new("dig")
            .args(["+short", "+norecurse", "+time=5", "+tries=2", "@127.0.0.1", "-p", &port, name, kind])
            .output()
            .map_err(|_| Error::NotInstalled { program: "dig" })?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            return Err(Error::Failed { program: "dig", output: text });
        }
        Ok(text.lines().map(str::to_owned).collect())
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    // Not in the path of everybody.
    ["/usr/sbin/named", "/usr/local/sbin/named"].into_iter().map(PathBuf::from).find(|path| path.is_file())
}

fn first_zone() -> String {
    "$TTL 60\n@ IN SOA ns hostmaster 1 60 60 60 60\n@ IN NS ns\nns IN A 127.0.0.1\n".to_owned()
}

fn configuration(dir: &Path, port: u16, zone: &str) -> String {
    let (key, secret) = NameServer::KEY;
    let dir = dir.display();
    format!(
        "options {{ directory \"{dir}\"; pid-file none; session-keyfile none; recursion no; dnssec-validation no;\n\
         listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; }};\n\
         controls {{ }};\n\
         key \"{key}\" {{ algorithm hmac-sha256; secret \"{secret}\"; }};\n\
         zone \"{zone}\" {{ type primary; file \"{dir}/zone\"; update-policy {{ grant {key} zonesub ANY; }}; }};\n"
    )
}
