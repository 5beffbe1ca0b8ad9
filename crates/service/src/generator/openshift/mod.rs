//! The generator of real clusters: OpenShift's installer program, taken out of the release and run here.

mod cluster_input;
mod internal_release;
mod layering;
pub(crate) mod manifests;
mod outputs;
mod own_mirrors;
pub(crate) mod patch;
mod program;
mod registries;
mod scrub;
mod setup;
mod setup_error;
mod system;
mod unconfigured;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assisted_base::version;
use assisted_blob::Blob;
use assisted_core::admission::install_config::{self, Additions};
use assisted_core::model::cluster::{ClusterRecord, PayloadImages};
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::measurement::ProgramUsed;
use assisted_core::model::topology;
use assisted_core::network::{address, node_ip};
use assisted_release::{
    Cache, Key, Lease, Program, PullSecret, Reference, Registries, Release, Session, component, extract,
    image,
};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::host::HostRole;
use assisted_wire::id::ClusterId;
use assisted_wire::platform::PlatformType;
use assisted_wire::secret::Secret;
use assisted_wire::version::ReleaseImage;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use ipnet::IpNet;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::{Files, GenerateError, Generator, Payload, ReleaseComponent, cluster, host};
use crate::Error;
use cluster_input::ClusterInput;
use layering::{Extracted, Images, Plan, try_pushes};
use manifests::OverlaidManifest;
use own_mirrors::own_mirrors;
use program::{Limits, Run, Target};
pub use registries::RegistryAccess;
use scrub::Redactor;
pub(super) use setup::clear;
pub use setup_error::SetupError;

/// How the generator is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where working directories are made.
    pub dir: PathBuf,
    /// Who drives installations, as the installer is told.
    pub invoker: String,
    /// What goes into each install config, unless a cluster has mirrors of its own.
    pub additions: Additions,
    /// The vendor's own authority, which new clusters trust, in PEM form; empty: none.
    pub vendor_authority: String,
    /// The authority of the service's certificate, in PEM form; empty: none.
    pub authority: String,
    /// Certificates and keys that clusters get in the place of their own, if any.
    pub tls_dir: Option<PathBuf>,
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

/// A release that was read, and the credentials that opened it.
#[derive(Clone, Debug)]
struct Opened {
    session: Session,
    release: Release,
}

/// What the user can do something about.
fn refused(error: impl std::fmt::Display) -> GenerateError {
    GenerateError::Refused(error.to_string())
}

/// What stands in the way here.
fn failure(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> GenerateError {
    GenerateError::Broken(Error::internal(error))
}

/// Does what computes or reads the disk where it holds up nobody.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GenerateError> + Send + 'static,
) -> Result<T, GenerateError> {
    tokio::task::spawn_blocking(work).await.map_err(failure)?
}

impl Generator for Openshift {
    fn additions(&self, facts: &Facts) -> Result<Additions, GenerateError> {
        own_mirrors(&self.setup.additions, cluster(facts)?)
    }

    fn payload<'a>(&'a self, facts: &'a Facts) -> BoxFuture<'a, Result<Payload, GenerateError>> {
        async {
            let opened = self.read(cluster(facts)?).await?;
            Ok(Payload::new(opened.images(), opened))
        }
        .boxed()
    }

    fn generate<'a>(
        &'a self,
        facts: &'a Facts,
        payload: Payload,
        blob: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>> {
        async {
            let record = cluster(facts)?;
            self.make(facts, record, payload, blob).await.map_err(|error| match error {
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
        key: HostKey,
    ) -> BoxFuture<'a, Result<Bytes, GenerateError>> {
        async move { outputs::joining(cluster(facts)?, host(facts, key)?).map_err(refused) }.boxed()
    }

    fn release<'a>(
        &'a self,
        url: &'a str,
        secret: &'a Secret,
    ) -> BoxFuture<'a, Result<ReleaseImage, GenerateError>> {
        self.read_release_image(url, secret).boxed()
    }

    fn architectures<'a>(
        &'a self,
        url: &'a str,
        secret: &'a Secret,
    ) -> BoxFuture<'a, Result<Vec<CpuArchitecture>, GenerateError>> {
        async {
            let (reference, session) = self.session_for(url, secret)?;
            let image = session.image(&reference, image::host()).await.map_err(refused)?;
            Ok(image.architectures().to_vec())
        }
        .boxed()
    }

    fn component<'a>(
        &'a self,
        url: &'a str,
        name: &'a str,
        secret: &'a Secret,
    ) -> BoxFuture<'a, Result<ReleaseComponent, GenerateError>> {
        async move {
            let (reference, session) = self.session_for(url, secret)?;
            let release = session.release(&reference, image::host()).await.map_err(refused)?;
            Ok(ReleaseComponent {
                image: release.component(name).map_err(refused)?.to_string(),
                architectures: release.architectures().to_vec(),
            })
        }
        .boxed()
    }

    fn unconfigured_ignition<'a>(
        &'a self,
        record: &'a ClusterRecord,
        infra_env: &'a InfraEnvRecord,
    ) -> BoxFuture<'a, Result<Vec<u8>, GenerateError>> {
        self.make_unconfigured(record, infra_env).boxed()
    }
}

impl Opened {
    fn images(&self) -> PayloadImages {
        let named = |found: Result<&Reference, _>| found.map(ToString::to_string).unwrap_or_default();
        PayloadImages {
            mco: named(self.release.component(component::MACHINE_CONFIG_OPERATOR)),
            must_gather: named(self.release.component(component::MUST_GATHER)),
            coreos: named(self.release.operating_system()),
        }
    }
}

impl Openshift {
    /// A generator that reads releases from `registries` and keeps their programs in `cache`.
    pub fn new(registries: Registries, cache: Cache, setup: Setup) -> Self {
        let turns = Arc::new(Semaphore::new(setup.at_once.max(1)));
        Self { registries, cache, setup, turns }
    }

    /// The release of a cluster, read with the cluster's own pull secret.
    async fn read(&self, record: &ClusterRecord) -> Result<Opened, GenerateError> {
        let reference: Reference = match &self.setup.release_mirror {
            Some(mirror) => mirror.clone(),
            None => record.cluster.ocp_release_image.parse().map_err(refused)?,
        };
        let secret = PullSecret::parse(&record.pull_secret).map_err(refused)?;
        let session = self.registries.session(secret);
        let release = session.release(&reference, image::host()).await.map_err(refused)?;
        Ok(Opened { session, release })
    }

    /// The reference of an image, and a session with the credentials that open it.
    fn session_for(&self, url: &str, secret: &Secret) -> Result<(Reference, Session), GenerateError> {
        let reference: Reference = url.parse().map_err(refused)?;
        let secret = PullSecret::parse(secret).map_err(refused)?;
        Ok((reference, self.registries.session(secret)))
    }

    /// What a release image says of itself, under the name by which it was asked for.
    async fn read_release_image(&self, url: &str, secret: &Secret) -> Result<ReleaseImage, GenerateError> {
        let (reference, session) = self.session_for(url, secret)?;
        let release = session.release(&reference, image::host()).await.map_err(refused)?;
        let base = version::base(&release.version)
            .ok_or_else(|| refused(format!("{} is no version of OpenShift", release.version)))?;
        let architectures = release.architectures().iter().map(|one| one.as_str().to_owned());
        Ok(ReleaseImage {
            openshift_version: base.to_string(),
            cpu_architecture: release.architecture,
            cpu_architectures: Some(architectures.collect()),
            url: url.to_owned(),
            version: release.version.clone(),
            default: false,
            support_level: None,
        })
    }

    /// The installer program of a release.
    async fn program(&self, Opened { session, release }: &Opened) -> Result<Lease, GenerateError> {
        let base = version::base(&release.version)
            .ok_or_else(|| refused(format!("{} is no version of OpenShift", release.version)))?;
        let program = Program::of(base.0, base.1, is_fips());
        let key = Key { release: release.pinned(), program, host: image::host() };
        let fetch = |path: PathBuf, limit| async move {
            extract(session, release, program, image::host(), &path, limit).await
        };
        self.cache.get(&key, fetch).await.map_err(refused)
    }

    async fn make(
        &self,
        facts: &Facts,
        record: &ClusterRecord,
        payload: Payload,
        blob: &Blob,
    ) -> Result<Files, GenerateError> {
        let cluster = &record.cluster;
        let mut additions = self.additions(facts)?;
        additions.authorities.insert(0, self.setup.vendor_authority.clone());
        let config = install_config::text(facts, &cluster.install_config_overrides, &additions);
        let config = config.map_err(refused)?;
        let mut for_installer = install_config::for_installer(&config).map_err(refused)?;
        let known = ClusterInput {
            networks: networks(config.expose()),
            install_config: config.expose().to_owned().into(),
            authority: self.setup.authority.clone(),
            facts: facts.clone(),
            record: record.clone(),
        };
        let users = manifests::of_user(blob, cluster.id).await?;
        let (known, system, mut given, plan) = aside(move || {
            let system = system::manifests(&known).map_err(refused)?;
            let mut given = manifests::all(users, &system).map_err(refused)?;
            internal_release::serve(&mut given, &known.record.cluster).map_err(refused)?;
            let plan = Plan::of(&known, Timestamp::now()).map_err(refused)?;
            Ok((Arc::new(known), system, given, plan.map(Arc::new)))
        })
        .await?;
        let opened = match payload.kept() {
            Some(opened) => opened,
            None => Arc::new(self.read(record).await?),
        };
        let layered = match plan {
            Some(plan) => {
                let images = layering_images(&opened.release)?;
                for_installer = plan.install_config(&for_installer).map_err(refused)?;
                given.extend(plan.manifests(&known, &images).into_iter().map(OverlaidManifest::of_system));
                Some((plan, images))
            }
            None => None,
        };
        let given = Arc::<[OverlaidManifest]>::from(given);
        let started_at = Timestamp::now();
        let program = self.program(&opened).await?;
        let used = used(record, &opened, &program, started_at);
        // Closed by nobody.
        let _turn = self.turns.acquire().await.map_err(failure)?;

        let (root, tls, id) = (self.setup.dir.clone(), self.setup.tls_dir.clone(), cluster.id);
        let install_config = for_installer.clone();
        let dir =
            aside(move || working_directory(&root, id, &install_config, tls.as_deref()).map_err(failure));
        let dir = Arc::new(dir.await?);
        let environment = self.environment(&known)?;
        let secrets = Redactor::of(&[&config, &for_installer]);
        self.run(&program, dir.path(), &environment, Target::Manifests, &secrets).await?;
        let (laid, over, place) = (known.clone(), given.clone(), dir.clone());
        let layered = aside(move || {
            overlay_manifests(&laid, &over, place.path())?;
            extract_layering(layered, &laid, place.path())
        })
        .await?;
        let single = topology::is_single_node(cluster);
        let target = if single { Target::SingleNodeIgnitionConfig } else { Target::IgnitionConfigs };
        let pushes = layered.as_ref().map(|(plan, _, extracted)| plan.pushes(extracted)).unwrap_or_default();
        let run = self.run(&program, dir.path(), &environment, target, &secrets);
        // The installer takes longer, so that nobody waits for registries.
        let (ran, warnings) = tokio::join!(run, Box::pin(try_pushes(&self.registries, &pushes)));
        ran?;
        let place = dir.clone();
        let collected = aside(move || {
            let layered =
                layered.as_ref().map(|(plan, images, extracted)| (plan.as_ref(), images, extracted));
            outputs::collect(place.path(), &known, &given, layered).map_err(refused)
        });
        let (contents, openshift_cluster_id) = collected.await?;
        let manifests = system.into_iter().map(|manifest| (manifest.name, manifest.text.into())).collect();
        Ok(Files { contents, manifests, openshift_cluster_id, program: Some(used), warnings })
    }

    async fn make_unconfigured(
        &self,
        record: &ClusterRecord,
        infra_env: &InfraEnvRecord,
    ) -> Result<Vec<u8>, GenerateError> {
        let opened = self.read(record).await?;
        let program = self.program(&opened).await?;
        // Closed by nobody.
        let _turn = self.turns.acquire().await.map_err(failure)?;
        let secrets = Redactor::of(&[&infra_env.pull_secret]);
        let (root, infra_env) = (self.setup.dir.clone(), infra_env.clone());
        let dir = aside(move || {
            let dir = empty_directory(&root, infra_env.infra_env.id).map_err(failure)?;
            unconfigured::write_inputs(&infra_env, dir.path()).map_err(refused)?;
            Ok(dir)
        });
        let dir = dir.await?;
        let environment = self.common_environment(record);
        let target = Target::UnconfiguredIgnition;
        self.run(&program, dir.path(), &environment, target, &secrets).await?;
        aside(move || unconfigured::collect(dir.path()).map_err(refused)).await
    }

    /// Runs the installer, within its limits.
    async fn run(
        &self,
        program: &Lease,
        dir: &Path,
        environment: &[(&'static str, String)],
        target: Target,
        secrets: &Redactor,
    ) -> Result<(), GenerateError> {
        let limits = Limits { time: self.setup.timeout, memory: self.setup.memory };
        let run = Run { program: program.path(), dir, environment, limits, secrets };
        run.create(target).await.map_err(refused)
    }

    /// What the installer is told of every cluster.
    fn common_environment(&self, record: &ClusterRecord) -> Vec<(&'static str, String)> {
        vec![
            ("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE", record.cluster.ocp_release_image.clone()),
            ("OPENSHIFT_INSTALL_INVOKER", self.setup.invoker.clone()),
        ]
    }

    /// All that the installer is told besides its install config.
    fn environment(&self, known: &ClusterInput) -> Result<Vec<(&'static str, String)>, GenerateError> {
        let cluster = &known.record.cluster;
        let mut all = self.common_environment(&known.record);
        if self.setup.tls_dir.is_some() {
            all.push(("OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS", "true".to_owned()));
        }
        match known.bootstrap_ip() {
            Some(ip) => all.push(("OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP", ip)),
            None if node_ip::is_chosen(cluster) => {}
            None => return Err(refused("the bootstrap host has no address in the machine network")),
        }
        Ok(all)
    }
}

/// What is told of the program that made the files.
fn used(record: &ClusterRecord, opened: &Opened, program: &Lease, started_at: Timestamp) -> ProgramUsed {
    ProgramUsed {
        release: record.cluster.ocp_release_image.clone(),
        version: opened.release.version.clone(),
        cached: program.was_cached,
        evicted: program.evicted,
        started_at,
        ended_at: Timestamp::now(),
    }
}

/// Takes out of the folder what image mode needs of it; nothing without image mode.
fn extract_layering(
    layered: Option<(Arc<Plan>, Images)>,
    known: &ClusterInput,
    dir: &Path,
) -> Result<Option<(Arc<Plan>, Images, Extracted)>, GenerateError> {
    let extract = |(plan, images): (Arc<Plan>, Images)| {
        let extracted = plan.extract(known, dir).map_err(refused)?;
        Ok((plan, images, extracted))
    };
    layered.map(extract).transpose()
}

/// Images of the release that builders of node images start.
fn layering_images(release: &Release) -> Result<Images, GenerateError> {
    let named = |name| release.component(name).map(ToString::to_string).map_err(refused);
    Ok(Images {
        mco: named(component::MACHINE_CONFIG_OPERATOR)?,
        docker_registry: named(component::DOCKER_REGISTRY)?,
    })
}

/// A folder for one run, which only this user can look into, with what the installer begins with; it is removed when it is
/// dropped.
fn working_directory(
    root: &Path,
    id: ClusterId,
    install_config: &Secret,
    tls: Option<&Path>,
) -> io::Result<TempDir> {
    let dir = empty_directory(root, id)?;
    manifests::write(&dir.path().join("install-config.yaml"), install_config.expose().as_bytes())?;
    if let Some(tls) = tls {
        let own = dir.path().join("tls");
        fs::create_dir(&own)?;
        for path in manifests::files(tls)? {
            manifests::write(&own.join(path.file_name().unwrap_or_default()), &fs::read(&path)?)?;
        }
    }
    Ok(dir)
}

fn empty_directory(root: &Path, id: impl std::fmt::Display) -> io::Result<TempDir> {
    fs::create_dir_all(root)?;
    tempfile::Builder::new().prefix(&format!("{id}.")).tempdir_in(root)
}

fn overlay_manifests(
    known: &ClusterInput,
    given: &[OverlaidManifest],
    dir: &Path,
) -> Result<(), GenerateError> {
    let cluster = &known.record.cluster;
    let platform = cluster.platform.as_ref().map_or(PlatformType::Baremetal, |platform| platform.r#type);
    manifests::drop_machines(dir, platform).map_err(failure)?;
    let workers = known.facts.hosts.iter().filter(|host| host.record.host.role == Some(HostRole::Worker));
    // The same each time, so that the files are.
    let tag: String = cluster.id.to_string().chars().take(7).collect();
    manifests::overlay_manifests(dir, given, &tag, workers.count() == 1).map_err(refused)
}

/// The machine networks in an install config.
fn networks(config: &str) -> Vec<IpNet> {
    let config: serde_json::Value = serde_json::from_str(config).unwrap_or_default();
    let networks = config["networking"]["machineNetwork"].as_array().into_iter().flatten();
    networks.filter_map(|network| address::parse_network(network["cidr"].as_str()?)).collect()
}

/// Whether this machine is in FIPS mode, where programs need the libraries of their host.
fn is_fips() -> bool {
    fs::read_to_string("/proc/sys/crypto/fips_enabled").is_ok_and(|text| text.trim() == "1")
}
