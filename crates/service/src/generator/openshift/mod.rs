//! The generator of real clusters: OpenShift's installer program, taken out of the release and run here.

mod manifests;
mod outputs;
mod patch;
mod program;
mod setup;
mod system;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assisted_blob::Blob;
use assisted_core::cluster::record::{ClusterRecord, PayloadImages};
use assisted_core::facts::Facts;
use assisted_core::host::record::HostKey;
use assisted_core::network::{address, node_ip};
use assisted_core::rules::install_config::{self, Additions};
use assisted_core::validation::topology;
use assisted_core::version::number;
use assisted_release::{
    Cache, Key, Lease, Program, PullSecret, Reference, Registries, Release, Session, component, extract,
    image,
};
use assisted_wire::host::HostRole;
use assisted_wire::id::ClusterId;
use assisted_wire::platform::PlatformType;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use ipnet::IpNet;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::{Files, GenerateError, Generator};
use crate::Error;
use manifests::Given;
use outputs::Known;
use program::{Limits, Run, Target};
pub use setup::SetupError;

/// How the generator is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where working directories are made.
    pub dir: PathBuf,
    /// Who drives installations, as the installer is told.
    pub invoker: String,
    /// What goes into each install config.
    pub additions: Additions,
    /// The authority of the service's certificate, in PEM form; empty: none.
    pub authority: String,
    /// Where releases are read instead of under their own names.
    pub release_mirror: Option<Reference>,
    /// How long one run of the installer may take.
    pub timeout: Duration,
    /// Bytes of memory that it may take for its data.
    pub memory: u64,
    /// How many clusters are generated at once.
    pub at_once: usize,
}

/// Generates with OpenShift's installer.
pub struct Openshift {
    registries: Registries,
    cache: Cache,
    setup: Setup,
    turns: Arc<Semaphore>,
}

/// What the user can do something about.
fn refused(error: impl std::fmt::Display) -> GenerateError {
    GenerateError::Refused(error.to_string())
}

/// What stands in the way here.
fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> GenerateError {
    GenerateError::Broken(Error::internal(error))
}

impl Generator for Openshift {
    fn additions(&self) -> Additions {
        self.setup.additions.clone()
    }

    fn payload<'a>(
        &'a self,
        facts: &'a Facts,
    ) -> BoxFuture<'a, Result<Option<PayloadImages>, GenerateError>> {
        async { self.images(cluster(facts)?).await.map(Some) }.boxed()
    }

    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        blob: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>> {
        async {
            let record = cluster(facts)?;
            self.make(facts, record, blob).await.map_err(|error| match error {
                GenerateError::Refused(why) => refused(format!(
                    "failed generating install config for cluster {}: {why}",
                    record.cluster.id
                )),
                broken => broken,
            })
        }
        .boxed()
    }

    fn host_ignition<'a>(
        &'a self,
        facts: &'a Facts,
        host: HostKey,
    ) -> BoxFuture<'a, Result<Bytes, GenerateError>> {
        async move {
            let host = facts.hosts.iter().find(|each| each.key() == host);
            let host = host.ok_or_else(|| refused("the host is gone"))?;
            outputs::joining(cluster(facts)?, host).map_err(refused)
        }
        .boxed()
    }
}

fn cluster(facts: &Facts) -> Result<&ClusterRecord, GenerateError> {
    facts.cluster.as_ref().ok_or_else(|| refused("the cluster is gone"))
}

impl Openshift {
    /// A generator that reads releases from `registries` and keeps their programs in `cache`.
    pub fn new(registries: Registries, cache: Cache, setup: Setup) -> Self {
        let turns = Arc::new(Semaphore::new(setup.at_once.max(1)));
        Self { registries, cache, setup, turns }
    }

    async fn images(&self, record: &ClusterRecord) -> Result<PayloadImages, GenerateError> {
        let (_, release) = self.release(record).await?;
        let named = |found: Result<&Reference, _>| found.map(ToString::to_string).unwrap_or_default();
        Ok(PayloadImages {
            mco: named(release.component(component::MACHINE_CONFIG_OPERATOR)),
            must_gather: named(release.component(component::MUST_GATHER)),
            coreos: named(release.operating_system()),
        })
    }

    /// The release of a cluster, read with the cluster's own pull secret.
    async fn release(&self, record: &ClusterRecord) -> Result<(Session, Release), GenerateError> {
        let reference: Reference = match &self.setup.release_mirror {
            Some(mirror) => mirror.clone(),
            None => record.cluster.ocp_release_image.parse().map_err(refused)?,
        };
        let secret = PullSecret::parse(&record.pull_secret).map_err(refused)?;
        let session = self.registries.session(secret);
        let release = session.release(&reference, image::host()).await.map_err(refused)?;
        Ok((session, release))
    }

    /// The installer program of a cluster's release.
    async fn program(&self, record: &ClusterRecord) -> Result<Lease, GenerateError> {
        let (session, release) = self.release(record).await?;
        let base = number::base(&release.version)
            .ok_or_else(|| refused(format!("{} is no version of OpenShift", release.version)))?;
        let program = Program::of(base.0, base.1, is_fips());
        let key = Key { release: release.pinned(), program, host: image::host() };
        let (session, release) = (&session, &release);
        let fetch = |path: PathBuf, limit| async move {
            extract(session, release, program, image::host(), &path, limit).await
        };
        self.cache.get(&key, fetch).await.map_err(refused)
    }

    async fn make(&self, facts: &Facts, record: &ClusterRecord, blob: &Blob) -> Result<Files, GenerateError> {
        let cluster = &record.cluster;
        let config = install_config::text(facts, &cluster.install_config_overrides, &self.setup.additions)
            .map_err(refused)?;
        let for_installer = install_config::for_installer(&config).map_err(refused)?;
        let known = Known {
            facts,
            record,
            networks: networks(config.expose()),
            install_config: config.expose().to_owned().into(),
            authority: self.setup.authority.clone(),
        };
        let users = manifests::of_user(blob, cluster.id).await?;
        let system = system::manifests(&known).map_err(refused)?;
        let given = manifests::all(users, &system).map_err(refused)?;
        let program = self.program(record).await?;
        // Closed by nobody.
        let _turn = self.turns.acquire().await.map_err(broken)?;

        let dir = self.working_directory(cluster.id).map_err(broken)?;
        manifests::write(&dir.path().join("install-config.yaml"), for_installer.expose().as_bytes())
            .map_err(broken)?;
        let environment = self.environment(&known)?;
        let run = Run {
            program: program.path(),
            dir: dir.path(),
            environment: &environment,
            limits: Limits { time: self.setup.timeout, memory: self.setup.memory },
        };
        run.create(Target::Manifests).await.map_err(refused)?;
        lay_over(&known, &given, dir.path())?;
        let single = topology::is_single_node(cluster);
        let target = if single { Target::SingleNodeIgnitionConfig } else { Target::IgnitionConfigs };
        run.create(target).await.map_err(refused)?;
        let (contents, openshift_cluster_id) =
            outputs::collect(dir.path(), &known, &given).map_err(refused)?;
        let manifests = system.into_iter().map(|manifest| (manifest.name, manifest.text.into())).collect();
        Ok(Files { contents, manifests, openshift_cluster_id })
    }

    /// A folder for one run, which only this user can look into; it is removed when it is dropped.
    fn working_directory(&self, id: ClusterId) -> io::Result<TempDir> {
        std::fs::create_dir_all(&self.setup.dir)?;
        tempfile::Builder::new().prefix(&format!("{id}.")).tempdir_in(&self.setup.dir)
    }

    /// All that the installer is told besides its install config.
    fn environment(&self, known: &Known<'_>) -> Result<Vec<(&'static str, String)>, GenerateError> {
        let cluster = &known.record.cluster;
        let mut all = vec![
            ("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE", cluster.ocp_release_image.clone()),
            ("OPENSHIFT_INSTALL_INVOKER", self.setup.invoker.clone()),
        ];
        match known.bootstrap_ip() {
            Some(ip) => all.push(("OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP", ip)),
            None if node_ip::is_chosen(cluster) => {}
            None => return Err(refused("the bootstrap host has no address in the machine network")),
        }
        Ok(all)
    }
}

fn lay_over(known: &Known<'_>, given: &[Given], dir: &Path) -> Result<(), GenerateError> {
    let cluster = &known.record.cluster;
    let platform = cluster.platform.as_ref().map_or(PlatformType::Baremetal, |platform| platform.r#type);
    manifests::drop_machines(dir, platform).map_err(broken)?;
    let workers = known.facts.hosts.iter().filter(|host| host.record.host.role == Some(HostRole::Worker));
    // The same each time, so that the files are.
    let tag: String = cluster.id.to_string().chars().take(7).collect();
    manifests::lay_over(dir, given, &tag, workers.count() == 1).map_err(refused)
}

/// The machine networks in an install config.
fn networks(config: &str) -> Vec<IpNet> {
    let config: serde_json::Value = serde_json::from_str(config).unwrap_or_default();
    let networks = config["networking"]["machineNetwork"].as_array().into_iter().flatten();
    networks.filter_map(|network| address::parse_network(network["cidr"].as_str()?)).collect()
}

/// Whether this machine is in FIPS mode, where programs need the libraries of their host.
fn is_fips() -> bool {
    std::fs::read_to_string("/proc/sys/crypto/fips_enabled").is_ok_and(|text| text.trim() == "1")
}
