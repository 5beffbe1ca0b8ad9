//! The service under test, as users run it: the release build, a process of its own, a fresh database.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assisted_simhost::connection::Connection;
use assisted_simhost::drive::Target;
use assisted_testkit::{Durability, Postgres, Server};
use clap::ValueEnum;
use hyper::Method;

use super::process;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    Sqlite,
    #[value(name = "postgresql")]
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
pub struct Database {
    server: Postgres,
    url: String,
}

impl Database {
    pub fn start() -> Result<Self> {
        let server = Postgres::launch(Durability::Full)?;
        let url = server.create_database()?;
        Ok(Self { server, url })
    }

    /// CPU seconds of all its processes; one that ended meanwhile is counted by its parent.
    pub fn cpu(&self) -> f64 {
        self.server.pids().into_iter().filter_map(|pid| process::cpu(pid).ok()).sum()
    }

    /// How many connections it has: each is served by a process that tells in its title where the client is.
    pub fn connections(&self) -> usize {
        let title = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        self.server.pids().into_iter().filter(|pid| title(*pid).contains("[local]")).count()
    }

    /// Leaves it nothing to do after what it was told.
    pub fn tidy_up(&self) -> Result<()> {
        Ok(self.server.tidy_up(&self.url)?)
    }
}

/// Any free port of this machine.
const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// How long the service may be busy with what it was told.
const BUSY: Duration = Duration::from_secs(300);

/// A running service.
pub struct Service {
    pub address: SocketAddr,
    /// The version that it installs if nobody asks for another.
    pub version: String,
    server: Server,
    program: PathBuf,
    options: Vec<String>,
    environment: Vec<(String, String)>,
    postgres: Option<Database>,
    dir: tempfile::TempDir,
}

impl Service {
    /// Starts a service on an empty database, with further options.
    pub async fn start(engine: Engine, program: &Path, options: &[&str]) -> Result<Self> {
        Self::start_in(engine, program, options, Vec::new()).await
    }

    /// Starts it with variables of the environment, too.
    pub async fn start_in(
        engine: Engine,
        program: &Path,
        options: &[&str],
        environment: Vec<(String, String)>,
    ) -> Result<Self> {
        let postgres = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Database::start()?),
        };
        let dir = tempfile::tempdir()?;
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let server = spawn(program, ANYWHERE, &options, &environment, dir.path(), postgres.as_ref())?;
        let address = server.address();
        let version = Target::new(address).default_version().await?;
        Ok(Self {
            address,
            version,
            server,
            program: program.to_path_buf(),
            options,
            environment,
            postgres,
            dir,
        })
    }

    /// Stops it and starts it again on the same data: time until ready, memory then.
    pub async fn restart(&mut self) -> Result<(Duration, f64)> {
        self.server.kill()?;
        let started = Instant::now();
        let (options, environment) = (&self.options, &self.environment);
        let (dir, postgres) = (self.dir.path(), self.postgres.as_ref());
        self.server = spawn(&self.program, ANYWHERE, options, environment, dir, postgres)?;
        self.address = self.server.address();
        let status =
            Connection::open(self.address).await?.send(Method::GET, "/ready", bytes::Bytes::new()).await?;
        ensure!(status.is_success(), "not ready: {status}");
        Ok((started.elapsed(), self.memory()?.0))
    }

    /// Waits until the service has worked off what it was told: its CPU time stands still.
    pub async fn wait_until_idle(&self) -> Result<()> {
        let (started, mut last) = (Instant::now(), self.cpu()?);
        while started.elapsed() < BUSY {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let now = self.cpu()?;
            if now - last < 0.05 {
                return Ok(());
            }
            last = now;
        }
        bail!("the service is still busy after {} s", BUSY.as_secs())
    }

    /// Where its files are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Leaves the database nothing to do after what it was told.
    pub fn tidy_up(&self) -> Result<()> {
        self.postgres.as_ref().map_or(Ok(()), Database::tidy_up)
    }

    /// CPU seconds of the service and its database so far.
    pub fn cpu(&self) -> Result<f64> {
        Ok(process::cpu(self.server.pid())? + self.database_cpu())
    }

    /// CPU seconds of the database alone; what is in the service's process counts as the service's.
    pub fn database_cpu(&self) -> f64 {
        self.postgres.as_ref().map_or(0.0, Database::cpu)
    }

    /// Resident memory of the service in MB: now, and at its most.
    pub fn memory(&self) -> Result<(f64, f64)> {
        process::memory(self.server.pid())
    }

    /// What of the service's memory are no pages of files, in MB.
    pub fn own_memory(&self) -> Result<f64> {
        process::own_memory(self.server.pid())
    }

    /// Files and connections that the service has open.
    pub fn descriptors(&self) -> Result<u64> {
        process::descriptors(self.server.pid())
    }

    /// What of the service's memory are pages of its program, in MB.
    pub fn pages_of_program(&self) -> Result<f64> {
        process::pages_of_files(self.server.pid())
    }
}

/// Starts the program at an address.
pub fn spawn(
    program: &Path,
    listen: SocketAddr,
    options: &[String],
    environment: &[(String, String)],
    dir: &Path,
    postgres: Option<&Database>,
) -> Result<Server> {
    let server = Server::start_at(program, listen, dir, |command| {
        command.args(options).env("LOG_LEVEL", "warn").envs(environment.iter().cloned());
        if let Some(postgres) = postgres {
            command.args(["--database", &postgres.url]);
        }
    });
    server.with_context(|| format!("{} does not start", program.display()))
}
