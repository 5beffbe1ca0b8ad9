//! The way through the states of a build (ocl-day1 §B5.1).

use std::io;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_release::{Digest, PullSecret, Reference};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::on_cluster_layering::{BuildLocation, BuildState, LayeringErrorCode, Pool};
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::containerfile::{ContainerfileInput, foreign_images, render as render_containerfile};
use super::embedded::Embedded;
use super::image::{Attempt, digest_path};
use super::lock::Lock;
use super::machine_os_config::MachineOsConfig;
use super::render::{self, Pass};
use super::{
    Builder, FIRST_PAUSE, Failed, LONGEST_PAUSE, Machine, StartError, Store, auth, base_image, bundle,
    context, end, node, preflight, rerender, scratch, verify,
};
use crate::config::Registry;

/// How often what concerns the surroundings is tried.
const TRIES: u32 = 3;

impl Builder {
    /// Builds all images of this machine; at once where that is done. What fails is on disk, too.
    ///
    /// # Errors
    /// When it can't begin; the inner error is a build that has failed for good, now or earlier.
    pub async fn run(&self) -> Result<Result<(), Failed>, StartError> {
        let _lock = Lock::take(&self.machine)?;
        let pools: Vec<Pool> = self.pools().map(|pool| pool.name).collect();
        let store = Store::open(&self.machine, pools.iter().copied()).map_err(StartError::State)?;
        if let Some(end) = end::ended(&self.machine, &store).await.map_err(StartError::State)? {
            self.leave_node().await;
            return Ok(end);
        }
        let work = Build { builder: self, machine: &self.machine, store: &store, pools };
        let done = match end::is_held_back(&self.machine) {
            // Nobody wants the images any more.
            true => Err(end::cancelled()),
            false => work.in_time().await,
        };
        if let Err(failed) = &done {
            end::end(&self.machine, &store, failed).await.map_err(StartError::State)?;
        } else if self.location == BuildLocation::ControlPlane
            && let Err(error) = bundle::write(&self.machine).await
        {
            tracing::warn!(%error, "the logs of the build are not gathered");
        }
        self.leave_node().await;
        Ok(done)
    }

    /// Leaves a node as it was: nobody comes after the build, as the installer does on a bootstrap host.
    async fn leave_node(&self) {
        if self.location == BuildLocation::ControlPlane {
            node::tidy(&self.machine).await;
        }
    }
}

struct Build<'a> {
    builder: &'a Builder,
    machine: &'a Machine,
    store: &'a Store,
    pools: Vec<Pool>,
}

fn state_failed(error: &io::Error) -> Failed {
    Failed::for_good(LayeringErrorCode::BuildInfra, format!("the state of the build can't be kept: {error}"))
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        state_failed(&error)
    }
}

impl Build<'_> {
    /// Goes on, as long as there is time.
    async fn in_time(&self) -> Result<(), Failed> {
        let done = tokio::time::timeout(self.time_left(), self.go_on()).await;
        done.unwrap_or_else(|_| {
            let minutes = self.builder.config.build_timeout_seconds / 60;
            let reason = format!("the build took longer than {minutes} minutes");
            Err(Failed::for_good(LayeringErrorCode::Timeout, reason))
        })
    }

    /// What is left of the time that was given, which is counted from the first beginning.
    fn time_left(&self) -> Duration {
        let whole = Duration::from_secs(self.builder.config.build_timeout_seconds)
            .saturating_mul(u32::try_from(self.pools.len()).unwrap_or(1));
        let begun = self.store.get().builds.iter().filter_map(|build| build.started_at).min();
        let passed = begun.map(|begun| Timestamp::now().duration_since(begun.0));
        let passed = passed.and_then(|passed| Duration::try_from(passed).ok()).unwrap_or_default();
        whole.saturating_sub(passed)
    }

    /// The first build that is not through, and its state.
    fn next(&self) -> Option<(Pool, BuildState)> {
        let progress = self.store.get();
        let open = |state: BuildState| state < BuildState::Rerendering;
        let next = progress.builds.iter().find(|build| open(build.state));
        let next = next.or_else(|| progress.builds.iter().find(|build| !build.state.is_terminal()));
        next.map(|build| (build.pool, build.state))
    }

    async fn go_on(&self) -> Result<(), Failed> {
        // What follows says which registry is not trusted, if one is not.
        if let Err(error) = context::trust(self.machine).await {
            tracing::warn!(%error, "programs of this host don't trust the authorities that the cluster trusts");
        }
        self.stand_up_again().await?;
        while let Some((pool, state)) = self.next() {
            self.pass(pool, state).await?;
        }
        Ok(())
    }

    /// What a killed builder had set up may be gone. Where the room for the build is, nothing of it is left.
    async fn stand_up_again(&self) -> Result<(), Failed> {
        let Some((_, state)) = self.next() else { return Ok(()) };
        if state > BuildState::PreparingScratch && !scratch::is_there(self.machine) {
            tracing::warn!("the scratch is gone: the build begins anew");
            self.store.enter(&self.pools, BuildState::PreparingScratch)?;
        } else if state > BuildState::StartingRegistry
            && let Some(registry) = self.embedded()
        {
            let (auth, secret) = self.credentials(None)?;
            self.retrying(&[], TRIES, async |_| registry.start(&auth, &secret).await).await?;
        }
        Ok(())
    }

    /// One state, to the beginning of the next.
    async fn pass(&self, pool: Pool, state: BuildState) -> Result<(), Failed> {
        use BuildState as S;
        let all = &self.pools[..];
        tracing::info!(%pool, %state, "building");
        match state {
            S::Pending => self.store.enter(all, S::WaitingForRender)?,
            S::WaitingForRender => {
                // A cluster renders by itself, and what it has made was brought here.
                if self.builder.location == BuildLocation::Bootstrap {
                    let (auth, _) = self.credentials(None)?;
                    render::run(self.machine, &self.builder.config, Pass::First, &auth).await?;
                }
                self.store.enter(all, S::Rendered)?;
            }
            S::Rendered => {
                self.read_rendered().await?;
                self.store.enter(all, S::Preflight)?;
            }
            S::Preflight => {
                self.retrying(all, TRIES, async |_| self.preflight().await).await?;
                self.store.enter(all, S::PreparingScratch)?;
            }
            S::PreparingScratch => {
                let (wanted, location) = (self.builder.config.scratch, self.builder.location);
                scratch::prepare(self.machine, wanted, location).await?;
                self.store.enter(all, S::StartingRegistry)?;
            }
            S::StartingRegistry => {
                if let Some(registry) = self.embedded() {
                    let (auth, secret) = self.credentials(None)?;
                    self.retrying(all, TRIES, async |_| registry.start(&auth, &secret).await).await?;
                }
                self.store.enter(all, S::PullingBase)?;
            }
            S::PullingBase | S::Building | S::Pushing | S::Verifying => self.build(pool, state).await?,
            S::Rerendering => match self.builder.location {
                BuildLocation::Bootstrap => self.rerender().await?,
                // The controller hands the image to the cluster.
                BuildLocation::ControlPlane => self.store.enter(all, S::Ready)?,
            },
            S::Ready | S::Failed => {}
        }
        Ok(())
    }

    async fn build(&self, pool: Pool, state: BuildState) -> Result<(), Failed> {
        use BuildState as S;
        let most = self.builder.config.attempts;
        let this = &[pool][..];
        let next = match state {
            S::PullingBase => {
                let (auth, _) = self.credentials(Some(pool))?;
                let base = self.base(pool)?;
                let pull = async |_| base_image::pull(self.machine, &base, &auth).await;
                self.retrying(this, most, pull).await?;
                S::Building
            }
            S::Building => {
                self.write_context(pool)?;
                let (auth, _) = self.credentials(Some(pool))?;
                let build = async |number| self.attempt(pool, number, &auth).build(self.store).await;
                self.retrying(this, most, build).await?;
                S::Pushing
            }
            S::Pushing => {
                self.retrying(this, most, async |number| self.push(pool, number).await).await?;
                S::Verifying
            }
            _ => {
                self.retrying(this, TRIES, async |_| self.verify(pool).await).await?;
                S::Rerendering
            }
        };
        self.store.enter(this, next)?;
        Ok(())
    }

    /// Tries what may pass, so often in all, however often the builder is started anew.
    async fn retrying(
        &self,
        pools: &[Pool],
        most: u32,
        work: impl AsyncFn(u32) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let backoff = Backoff { first: FIRST_PAUSE, longest: LONGEST_PAUSE, jitter: Jitter::Half };
        let mut attempt = 1;
        if let Some(pool) = pools.first() {
            attempt = self.store.get().of(*pool).map_or(1, |build| build.attempt.max(1));
        }
        loop {
            let failed = match work(attempt).await {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            if !failed.retriable || attempt >= most {
                return Err(failed);
            }
            tracing::warn!(attempt, error = %failed, "trying again");
            self.store.again(pools, &failed)?;
            self.machine.sleep(backoff.pause(attempt)).await;
            attempt += 1;
        }
    }

    fn embedded(&self) -> Option<Embedded<'_>> {
        Embedded::of(self.machine, &self.builder.config)
    }

    /// The file of credentials with which a pool's images are pulled, or all pools', and the same for our own client.
    fn credentials(&self, pool: Option<Pool>) -> Result<(String, PullSecret), Failed> {
        let merged = self.merged(pool, MachineOsConfig::base_secret)?;
        let name = pool.map_or("all", Pool::as_str);
        Ok((auth::file(self.machine, name, &merged)?, auth::parsed(&merged)?))
    }

    fn merged(
        &self,
        pool: Option<Pool>,
        which: impl Fn(&MachineOsConfig) -> Option<&str>,
    ) -> Result<Secret, Failed> {
        let config = pool.map(|pool| MachineOsConfig::of(self.machine, pool)).transpose()?;
        let names: Vec<&str> = config.as_ref().and_then(which).into_iter().collect();
        auth::merged(self.machine, &names)
            .map_err(|error| Failed::for_good(LayeringErrorCode::Preflight, error.to_string()))
    }

    /// What was rendered is noted with each pool: it shows who builds what.
    async fn read_rendered(&self) -> Result<(), Failed> {
        let (auth, _) = self.credentials(None)?;
        let seedable = render::is_seedable(self.machine, &self.builder.config, &auth).await?;
        for pool in &self.pools {
            let rendered = render::read(self.machine, Pass::First, *pool)?;
            let inputs = self.inputs_hash(*pool, &rendered)?;
            self.store.change(|progress| {
                progress.seedable = Some(seedable);
                progress.inputs.retain(|(of, _)| of != pool);
                progress.inputs.push((*pool, inputs));
                for build in progress.builds.iter_mut().filter(|build| build.pool == *pool) {
                    build.rendered_machine_config = Some(rendered.name.clone());
                    build.base_image = Some(rendered.os_image().to_owned());
                }
            })?;
        }
        Ok(())
    }

    /// A hash over all that goes into a pool's image (§B5.4).
    fn inputs_hash(&self, pool: Pool, rendered: &render::Rendered) -> Result<String, Failed> {
        let mut spec = rendered.spec.clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("osImageURL");
        }
        let config = MachineOsConfig::of(self.machine, pool)?;
        let authorities = context::authorities(self.machine)?.unwrap_or_default();
        let mut hash = Sha256::new();
        for part in [
            rendered.os_image().as_bytes(),
            spec.to_string().as_bytes(),
            config.containerfile().as_bytes(),
            &authorities,
        ] {
            hash.update(u64::try_from(part.len()).unwrap_or_default().to_be_bytes());
            hash.update(part);
        }
        Ok(Digest::finish(hash).hex())
    }

    fn base(&self, pool: Pool) -> Result<String, Failed> {
        let known = self.store.get().of(pool).and_then(|build| build.base_image.clone());
        known.ok_or_else(|| {
            Failed::for_good(LayeringErrorCode::Render, format!("pool {pool} has no base image"))
        })
    }

    async fn preflight(&self) -> Result<(), Failed> {
        preflight::clock(Timestamp::now())?;
        let arch = if self.builder.config.arch == "x86_64" {
            CpuArchitecture::X8664
        } else {
            CpuArchitecture::Arm64
        };
        for pool in &self.pools {
            let config = MachineOsConfig::of(self.machine, *pool)?;
            let (_, secret) = self.credentials(Some(*pool))?;
            let mut images = vec![self.base(*pool)?];
            images.extend(foreign_images(config.containerfile()));
            preflight::images(&self.session(secret)?, &images, arch).await?;
            if let Registry::External {} = self.builder.config.registry {
                // Later roll-outs read the image with this secret alone (§B4.1).
                let secret = auth::alone(self.machine, config.push_secret())
                    .map_err(|error| Failed::for_good(LayeringErrorCode::Preflight, error.to_string()))?;
                let secret = auth::parsed(&secret)?;
                preflight::push(&self.session(secret)?, &external_repository(&config)?).await?;
            }
        }
        Ok(())
    }

    fn session(&self, secret: PullSecret) -> Result<assisted_release::Session, Failed> {
        let mut authorities = Vec::new();
        if let Some(bundle) = context::authorities(self.machine)? {
            authorities.push(String::from_utf8_lossy(&bundle).into_owned());
        }
        if let Some(registry) = self.embedded() {
            authorities.extend(registry.authority());
        }
        let proxy = &self.builder.config.proxy;
        verify::session(self.machine, proxy, authorities, secret)
            .map_err(|error| Failed::for_good(LayeringErrorCode::Preflight, error))
    }

    fn write_context(&self, pool: Pool) -> Result<(), Failed> {
        let config = &self.builder.config;
        let rendered = render::read(self.machine, Pass::First, pool)?;
        let object = MachineOsConfig::of(self.machine, pool)?;
        let ignition = config.bake_configs.then(|| context::without_secrets(rendered.ignition()));
        if let Some((_, left_out)) = &ignition {
            tracing::info!(%pool, files = left_out.len(), "secret files are left out of the image");
        }
        let ignition = ignition.map(|(config, _)| config);
        context::write(self.machine, pool.as_str(), ignition.as_ref(), |trusts| {
            render_containerfile(&ContainerfileInput {
                base: rendered.os_image(),
                pool: pool.as_str(),
                rendered: &rendered.name,
                release_version: &config.release_version,
                cluster_id: &config.cluster_id.to_string(),
                bakes: config.bake_configs,
                trusts,
                user: object.containerfile(),
            })
        })?;
        Ok(())
    }

    fn attempt<'a>(&'a self, pool: Pool, number: u32, auth: &'a str) -> Attempt<'a> {
        Attempt { machine: self.machine, pool, number, auth, proxy: &self.builder.config.proxy }
    }

    async fn push(&self, pool: Pool, number: u32) -> Result<(), Failed> {
        if let Some(registry) = self.embedded() {
            return self.attempt(pool, number, "").push(&registry.writer(pool), None).await;
        }
        let config = MachineOsConfig::of(self.machine, pool)?;
        let auth = auth::file(self.machine, "push", &self.merged(Some(pool), MachineOsConfig::push_secret)?)?;
        let id = self.builder.config.cluster_id.to_string();
        let to = format!("{}:{pool}-{}", external_repository(&config)?, &id[..12]);
        self.attempt(pool, number, &auth).push(&to, Some(&auth)).await
    }

    /// Reads the pushed image back, and notes its digest.
    async fn verify(&self, pool: Pool) -> Result<(), Failed> {
        let wrong = |reason: String| Failed::new(LayeringErrorCode::Verify, reason);
        let told = self
            .machine
            .read(&digest_path(pool))
            .map_err(|error| wrong(format!("no digest was told: {error}")))?;
        let told = String::from_utf8_lossy(&told).trim().to_owned();
        let digest: Digest = told.parse().map_err(|_| wrong(format!("{told:?} is no digest")))?;
        let config = &self.builder.config;
        // What is read here, and the name that nodes know.
        let (local, public, secret) = match (self.embedded(), config.repository(pool)) {
            (Some(registry), Some(public)) => {
                (registry.local_repository(pool), public, self.credentials(Some(pool))?.1)
            }
            _ => {
                let object = MachineOsConfig::of(self.machine, pool)?;
                let repository = external_repository(&object)?;
                let secret = auth::parsed(&self.merged(Some(pool), MachineOsConfig::push_secret)?)?;
                (repository.clone(), repository, secret)
            }
        };
        let bytes = verify::check(&self.session(secret)?, &local, digest, pool, config).await?;
        self.store.change(|progress| {
            progress.bytes.retain(|(of, _)| *of != pool);
            progress.bytes.push((pool, bytes));
            for build in progress.builds.iter_mut().filter(|build| build.pool == pool) {
                build.digest = Some(digest.to_string());
                build.image = Some(format!("{public}@{digest}"));
            }
        })?;
        Ok(())
    }

    /// The images become what nodes boot; the release's own controller has the last word.
    async fn rerender(&self) -> Result<(), Failed> {
        let progress = self.store.get();
        let seedable = progress.seedable.unwrap_or_default();
        let image = |pool: Pool| {
            let image = progress.of(pool).and_then(|build| build.image.clone());
            image.ok_or_else(|| {
                Failed::for_good(LayeringErrorCode::Verify, format!("pool {pool} has no image"))
            })
        };
        for pool in &self.pools {
            rerender::write(self.machine, *pool, &image(*pool)?, seedable)?;
        }
        let (auth, secret) = self.credentials(None)?;
        render::run(self.machine, &self.builder.config, Pass::Second, &auth).await?;
        for pool in &self.pools {
            rerender::check(self.machine, *pool, &image(*pool)?)?;
        }
        if let Some(registry) = self.embedded() {
            let answers = async |_| {
                registry
                    .answers(&secret)
                    .await
                    .map_err(Failed::of(LayeringErrorCode::Registry, "the registry"))
            };
            self.retrying(&[], TRIES, answers).await?;
        }
        self.store.enter(&self.pools, BuildState::Ready)?;
        Ok(())
    }
}

/// The repository of a MachineOSConfig's push spec, without its tag.
fn external_repository(config: &MachineOsConfig) -> Result<String, Failed> {
    let spec: Reference = config.push_spec().parse().map_err(|error| {
        Failed::for_good(
            LayeringErrorCode::Preflight,
            format!("renderedImagePushSpec {:?}: {error}", config.push_spec()),
        )
    })?;
    Ok(spec.repository.to_string())
}
