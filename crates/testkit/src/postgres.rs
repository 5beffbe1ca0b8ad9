//! A PostgreSQL server in a temporary directory, reached through a socket in it.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::supervised::{Keep, Supervised};
use crate::{Authority, Error};

/// The server refuses to run as root; `nobody` exists everywhere.
const UNPRIVILEGED: u32 = 65_534;

/// The port by which a socket is named.
const DEFAULT_PORT: u16 = 5432;

/// How long the server may take until it answers.
const START: Duration = Duration::from_secs(60);

const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "max_connections=200",
    "shared_buffers=64MB",
    "log_min_messages=fatal",
    "unix_socket_permissions=0777",
];

/// Whether the server waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// As in production; for benchmarks.
    Full,
    /// A crash of the machine may lose data, the death of a client may not; for tests.
    Fast,
}

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    bin: PathBuf,
    dir: PathBuf,
    port: u16,
    _server: Supervised,
    databases: AtomicU32,
}

impl Postgres {
    /// The server that all tests of this process share; started on first use.
    pub fn start() -> Result<&'static Self, Error> {
        static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::launch(Durability::Fast).map_err(|error| error.to_string()))
            .as_ref()
            .map_err(|error| Error::Shared(error.clone()))
    }

    /// A server of one's own, stopped when it is dropped.
    pub fn launch(durability: Durability) -> Result<Self, Error> {
        Self::launch_with(durability, DEFAULT_PORT, |_| Ok(Vec::new()))
    }

    /// A server of one's own that is reached by TCP on loopback, and by TLS alone, with a certificate of an authority for these
    /// names.
    pub fn with_tls(authority: &Authority, names: &[&str]) -> Result<Self, Error> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Self::launch_with(Durability::Fast, port, |dir| {
            let (certificate, key) = authority.certificate(dir, names, (2020, 2120))?;
            std::fs::set_permissions(&key, Permissions::from_mode(0o600))?;
            if rustix::process::geteuid().is_root() {
                std::os::unix::fs::chown(&key, Some(UNPRIVILEGED), Some(UNPRIVILEGED))?;
            }
            let access =
                "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostssl all all ::1/128 trust\n";
            std::fs::write(dir.join("data/pg_hba.conf"), access)?;
            Ok(vec![
                "listen_addresses=localhost".to_owned(),
                format!("port={port}"),
                "ssl=on".to_owned(),
                format!("ssl_cert_file={}", certificate.display()),
                format!("ssl_key_file={}", key.display()),
            ])
        })
    }

    /// The port that a server with TLS listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens in the file system.
    pub fn socket(&self) -> PathBuf {
        self.dir.join(format!(".s.PGSQL.{}", self.port))
    }

    /// The address of a database of a server with TLS, by a name of it, perhaps at another port.
    pub fn tcp_address(&self, host: &str, port: u16) -> String {
        format!("postgres://assisted@{host}:{port}/postgres")
    }

    fn launch_with(
        durability: Durability,
        port: u16,
        more: impl FnOnce(&Path) -> Result<Vec<String>, Error>,
    ) -> Result<Self, Error> {
        let bin = assisted_lab_tools::postgres().ok_or(Error::Missing)?;
        let dir = folder()?;
        let data = dir.path().join("data");
        let mut initdb = unprivileged(&bin.join("initdb"));
        initdb.args([
            "--no-sync",
            "--auth=trust",
            "--username=assisted",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "-D",
        ]);
        check("initdb", initdb.arg(&data).output())?;
        Self::run(bin, dir, durability, port, more)
    }

    /// A copy of this server that follows it, and takes no writes until it is promoted.
    pub fn standby(&self) -> Result<Self, Error> {
        let dir = folder()?;
        let mut copy = unprivileged(&self.bin.join("pg_basebackup"));
        copy.arg("--host").arg(&self.dir).args(["--username=assisted", "--no-sync", "--checkpoint=fast"]);
        copy.args(["--wal-method=stream", "--write-recovery-conf"]).arg("-D").arg(dir.path().join("data"));
        check("pg_basebackup", copy.output())?;
        Self::run(self.bin.clone(), dir, Durability::Fast, DEFAULT_PORT, |_| Ok(Vec::new()))
    }

    /// Has a standby take writes from now on.
    pub fn promote(&self) -> Result<(), Error> {
        self.execute("select pg_promote(true, 60)")
    }

    /// The address of the same database at several servers.
    pub fn address_of_all(servers: &[&Self], database: &str) -> String {
        let hosts: Vec<_> = servers.iter().map(|server| server.host()).collect();
        format!("postgres://assisted@{}/{database}", hosts.join(","))
    }

    fn run(
        bin: PathBuf,
        dir: tempfile::TempDir,
        durability: Durability,
        port: u16,
        more: impl FnOnce(&Path) -> Result<Vec<String>, Error>,
    ) -> Result<Self, Error> {
        let data = dir.path().join("data");
        let relaxed: &[_] = match durability {
            Durability::Full => &["autovacuum_naptime=10s"],
            // Each database is looked after once in that time: with hundreds of them, which live for seconds, some process would always do so.
            Durability::Fast => &["fsync=off", "full_page_writes=off", "autovacuum_naptime=3min"],
        };
        let mut args = vec![OsStr::new("-D"), data.as_os_str(), OsStr::new("-k"), dir.path().as_os_str()];
        let more = more(dir.path())?;
        for setting in
            SETTINGS.iter().copied().chain(relaxed.iter().copied()).chain(more.iter().map(String::as_str))
        {
            args.extend([OsStr::new("-c"), OsStr::new(setting)]);
        }
        let keep = Keep { signal: Signal::QUIT, log: &dir.path().join("log"), remove: Some(dir.path()) };
        let server = Supervised::start(unprivileged, &keep, &bin.join("postgres"), &args)
            .map_err(|source| Error::Run { program: "sh", source })?;
        // From here on the shell removes the directory.
        let server = Self { bin, dir: dir.keep(), port, _server: server, databases: AtomicU32::new(0) };
        server.wait()?;
        Ok(server)
    }

    /// Makes an empty database and gives its address, `postgres://…`.
    pub fn create_database(&self) -> Result<String, Error> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut createdb = Command::new(self.bin.join("createdb"));
        createdb.arg("--host").arg(&self.dir).args([
            "--username=assisted",
            "--maintenance-db=postgres",
            &name,
        ]);
        check("createdb", createdb.output())?;
        Ok(self.address(&name))
    }

    /// Runs one statement as its administrator, in the database of administrators.
    pub fn execute(&self, sql: &str) -> Result<(), Error> {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.arg("--host").arg(&self.dir).arg(format!("--port={}", self.port));
        psql.args([
            "--username=assisted",
            "--dbname=postgres",
            "--no-psqlrc",
            "--quiet",
            "--output=/dev/null",
        ]);
        check("psql", psql.arg(format!("--command={sql}")).output())
    }

    /// All that is in a database, given by its address, as SQL.
    pub fn dump(&self, address: &str) -> Result<Vec<u8>, Error> {
        let output = Command::new(self.bin.join("pg_dump")).arg(format!("--dbname={address}")).output();
        let dump = output.as_ref().map(|output| output.stdout.clone()).unwrap_or_default();
        check("pg_dump", output)?;
        Ok(dump)
    }

    /// Has the server do at once in a database, given by its address, what it does by itself some time after a load:
    /// vacuum, statistics, checkpoint. Measurements of a quiet system would count it otherwise.
    pub fn tidy_up(&self, address: &str) -> Result<(), Error> {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--command=vacuum analyze", "--command=checkpoint", address]);
        check("psql", psql.output())
    }

    /// Process ids of the server and all that serve its connections, for measurements.
    pub fn pids(&self) -> Vec<u32> {
        let first = std::fs::read_to_string(self.dir.join("data/postmaster.pid")).ok();
        let Some(postmaster) = first.and_then(|text| text.lines().next()?.parse::<u32>().ok()) else {
            return Vec::new();
        };
        let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
        let mut pids = vec![postmaster];
        pids.extend(
            children.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()),
        );
        pids
    }

    fn address(&self, database: &str) -> String {
        format!("postgres://assisted@{}/{database}", self.host())
    }

    fn host(&self) -> String {
        self.dir.to_string_lossy().replace('%', "%25").replace('/', "%2F")
    }

    fn wait(&self) -> Result<(), Error> {
        let deadline = Instant::now() + START;
        loop {
            let mut ready = Command::new(self.bin.join("pg_isready"));
            ready
                .arg("--quiet")
                .arg("--host")
                .arg(&self.dir)
                .arg(format!("--port={}", self.port))
                .args(["--username=assisted", "--dbname=postgres"]);
            match ready.status() {
                Ok(status) if status.success() => return Ok(()),
                Ok(_) if Instant::now() < deadline => sleep(Duration::from_millis(20)),
                Ok(_) => {
                    let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                    return Err(Error::Silent { log });
                }
                Err(source) => return Err(Error::Run { program: "pg_isready", source }),
            }
        }
    }
}

/// A folder that the server may use.
fn folder() -> Result<tempfile::TempDir, Error> {
    let dir = tempfile::Builder::new().prefix("assisted-pg-").tempdir()?;
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(dir.path(), Some(UNPRIVILEGED), Some(UNPRIVILEGED))?;
    }
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755))?;
    Ok(dir)
}

/// A command that does not run as root.
fn unprivileged(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={UNPRIVILEGED}"))
        .arg(format!("--regid={UNPRIVILEGED}"))
        .arg("--clear-groups")
        .arg(program)
        // The caller's may be closed to others.
        .current_dir("/");
    command
}

fn check(program: &'static str, output: io::Result<Output>) -> Result<(), Error> {
    let output = output.map_err(|source| Error::Run { program, source })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed { program, output: text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_and_goes() {
        let server = Postgres::launch(Durability::Fast).unwrap();
        let first = server.create_database().unwrap();
        assert_ne!(first, server.create_database().unwrap());
        server.tidy_up(&first).unwrap();
        let pids = server.pids();
        assert!(!pids.is_empty());
        let dir = server.dir.clone();
        drop(server);
        assert!(!dir.exists());
        assert!(!Path::new("/proc").join(pids[0].to_string()).exists());
    }
}
