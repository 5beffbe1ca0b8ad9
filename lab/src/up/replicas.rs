//! Several replicas of the service behind one address, which share a PostgreSQL and a bucket and nothing else: one after the other is
//! killed, and started again.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::{Balancer, python};

use super::{Lab, LabError, say};
use crate::network::{GATEWAY, Network, Running};

/// Where everybody finds the service.
pub(super) const SERVICE: SocketAddr = SocketAddr::new(IpAddr::V4(GATEWAY), 8090);
/// Where the first replica is behind it; the others follow.
const FIRST: u16 = 8091;
/// Where the bucket is.
const BUCKET: SocketAddr = SocketAddr::new(IpAddr::V4(GATEWAY), 9000);

/// The bucket's log, in the lab's folder.
pub(super) const BUCKET_LOG: &str = "bucket.log";

const START: Duration = Duration::from_secs(60);

/// Replicas, as they are asked for.
#[derive(Clone, Debug)]
pub struct Replicas {
    pub count: u16,
    /// The PostgreSQL that they share, which can be reached from the lab's network: by a socket in the file system.
    pub database: String,
    /// Each time that so much has passed in the installation, one of them is killed and started again.
    pub killed_every: Option<Duration>,
}

impl Replicas {
    /// The settings by which replicas share what they share.
    pub(super) fn settings(&self, dir: &Path) -> Vec<(&'static str, String)> {
        vec![
            ("ASSISTED_DATABASE", self.database.clone()),
            ("STORAGE", "s3".to_owned()),
            ("S3_ENDPOINT_URL", BUCKET.to_string()),
            ("S3_BUCKET", "lab".to_owned()),
            ("CREATE_S3_BUCKET", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "lab".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "lab".to_owned()),
            ("SEAL_KEY_FILE", dir.join("seal-keys").display().to_string()),
        ]
    }
}

/// Where a replica listens.
pub(super) fn address(number: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(GATEWAY), FIRST.saturating_add(number))
}

/// A name in the lab's folder, for each replica; the first has that of a service that is alone.
pub(super) fn named(name: &str, number: u16) -> PathBuf {
    if number == 0 { name.into() } else { format!("{number}-{name}").into() }
}

/// What replicas share besides the database: the bucket, and their address.
pub(super) struct Shared {
    bucket: Running,
    balancer: Balancer,
}

impl Shared {
    pub(super) fn start(replicas: &Replicas, dir: &Path, network: &Network) -> Result<Self, LabError> {
        let files = dir.join("bucket");
        std::fs::create_dir_all(&files).map_err(LabError::io(&files))?;
        let log = dir.join(BUCKET_LOG);
        let mut command = network.command(python()?.with_file_name("moto_server"));
        command.args(["-H", &GATEWAY.to_string(), "-p", &BUCKET.port().to_string()]);
        command.env("TMPDIR", &files).env("NO_PROXY", "*");
        let mut bucket = Running::start("the bucket", &mut command, &log)?;
        let mut wait = Wait::new("the bucket", log.display(), START);
        while network.within(|| TcpStream::connect(BUCKET).is_err())? {
            bucket.must_live()?;
            wait.pause(Duration::from_millis(50))?;
        }
        let addresses = (0..replicas.count).map(address).collect();
        let balancer = network.within(|| Balancer::start(SERVICE, addresses))?;
        Ok(Self { bucket, balancer: balancer.map_err(LabError::io(dir))? })
    }

    pub(super) fn must_live(&mut self) -> Result<(), LabError> {
        Ok(self.bucket.must_live()?)
    }

    /// How many connections each replica has taken.
    pub(super) fn taken(&self) -> Vec<usize> {
        self.balancer.taken()
    }
}

/// Which replicas were killed so far.
pub(super) struct Kills {
    count: u16,
    last: Instant,
}

impl Kills {
    /// None, from now on.
    pub(super) fn none() -> Self {
        Self { count: 0, last: Instant::now() }
    }
}

impl Lab {
    /// Kills the replica whose turn it is, when it is time.
    pub(super) fn kill_replica_if_due(&mut self) -> Result<(), LabError> {
        let Some(replicas) = &self.plan.replicas else { return Ok(()) };
        if replicas.killed_every.is_none_or(|every| self.kills.last.elapsed() < every) {
            return Ok(());
        }
        let number = self.kills.count % replicas.count.max(1);
        say(&format!("\n--- replica {number} of the service is killed, and started again"));
        self.service.restart_replica(&self.plan, &self.network, number)?;
        self.kills = Kills { count: self.kills.count.saturating_add(1), last: Instant::now() };
        Ok(())
    }

    /// How the replicas have fared, for whoever reads the summary.
    pub(super) fn tell_of_replicas(&self) -> String {
        let Some(taken) = self.service.taken() else { return String::new() };
        let taken: Vec<_> = taken.iter().map(usize::to_string).collect();
        format!(
            "\nreplicas: {}, which have taken {} connections; {} times one was killed\n",
            taken.len(),
            taken.join(", "),
            self.kills.count
        )
    }
}
