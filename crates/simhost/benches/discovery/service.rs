//! The service under test, as users run it: the release build, a process of its own, a fresh database.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assisted_simhost::connection::Connection;
use assisted_testkit::{Durability, Postgres};
use hyper::Method;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::process;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// A database server of its own, as durable as a user's.
struct Database {
    server: Postgres,
    url: String,
}

impl Database {
    fn start() -> Result<Self> {
        let server = Postgres::launch(Durability::Full)?;
        let url = server.create_database()?;
        Ok(Self { server, url })
    }

    /// CPU seconds of all its processes; one that ended meanwhile is counted by its parent.
    fn cpu(&self) -> f64 {
        self.server.pids().into_iter().filter_map(|pid| process::cpu(pid).ok()).sum()
    }
}

/// A running service.
pub struct Service {
    pub address: SocketAddr,
    /// A version that can be installed.
    pub version: String,
    child: Child,
    postgres: Option<Database>,
    dir: tempfile::TempDir,
}

impl Service {
    /// Starts a service on an empty database.
    pub async fn start(engine: Engine) -> Result<Self> {
        let postgres = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Database::start()?),
        };
        let dir = tempfile::tempdir()?;
        let (child, address) = spawn(dir.path(), postgres.as_ref()).await?;
        let mut connection = Connection::open(address).await?;
        let path = "/api/assisted-install/v2/openshift-versions?only_latest=true";
        let versions = connection.json(Method::GET, path, &Value::Null).await?;
        let version =
            versions.as_object().and_then(|all| all.keys().next_back()).context("no versions")?.clone();
        Ok(Self { address, version, child, postgres, dir })
    }

    /// Stops it and starts it again on the same data: time until ready, memory then.
    pub async fn restart(&mut self) -> Result<(Duration, f64)> {
        self.child.kill().await?;
        let started = Instant::now();
        (self.child, self.address) = spawn(self.dir.path(), self.postgres.as_ref()).await?;
        let status =
            Connection::open(self.address).await?.send(Method::GET, "/ready", bytes::Bytes::new()).await?;
        ensure!(status.is_success(), "not ready: {status}");
        Ok((started.elapsed(), self.memory()?))
    }

    /// Waits until the service has worked off what it was told: its CPU time stands still.
    pub async fn settle(&self) -> Result<()> {
        let mut last = self.cpu()?;
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let now = self.cpu()?;
            if now - last < 0.05 {
                return Ok(());
            }
            last = now;
        }
    }

    /// CPU seconds of the service and its database so far.
    pub fn cpu(&self) -> Result<f64> {
        let database = match &self.postgres {
            Some(postgres) => postgres.cpu(),
            None => 0.0,
        };
        Ok(process::cpu(self.pid()?)? + database)
    }

    /// Resident memory of the service in MB.
    pub fn memory(&self) -> Result<f64> {
        process::memory(self.pid()?)
    }

    fn pid(&self) -> Result<u32> {
        self.child.id().context("the service has ended")
    }
}

async fn spawn(dir: &std::path::Path, postgres: Option<&Database>) -> Result<(Child, SocketAddr)> {
    let mut command = Command::new(target_dir()?.join("release/assisted"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir).env("LOG_LEVEL", "warn");
    if let Some(postgres) = postgres {
        command.args(["--database", &postgres.url]);
    }
    let log = std::fs::File::options().create(true).append(true).open(dir.join("service.log"))?;
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(log).kill_on_drop(true).spawn()?;
    let stdout = child.stdout.take().context("the service has no output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await?;
    let address = line
        .split_whitespace()
        .find_map(|word| word.strip_prefix("http://"))
        .with_context(|| format!("no address in {line:?}; see {}", dir.join("service.log").display()))?;
    Ok((child, address.trim_end_matches('/').parse()?))
}

/// Where cargo puts what it builds.
pub fn target_dir() -> Result<PathBuf> {
    // The benchmark itself runs from target/release/deps.
    let own = std::env::current_exe()?;
    own.ancestors().nth(3).map(PathBuf::from).context("the benchmark was moved")
}
