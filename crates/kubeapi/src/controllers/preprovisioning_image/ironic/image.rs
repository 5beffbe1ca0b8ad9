//! The image of Ironic's agent, for the architecture of the machines (kube-api §6.7).

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_core::catalogue::release::architecture::{normal, of_image};
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::config::cluster_version::ClusterVersion;
use assisted_crd::labels::annotation;
use assisted_kube::error::optional;
use assisted_release::component::IRONIC_AGENT;
use assisted_service::generator::ReleaseComponent;
use assisted_service::object::DescribedInfraEnv;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::secret::Secret;
use assisted_wire::version::ImageCpuArchitecture;
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use crate::controllers::hub::Shared;

/// The one object that tells which release the hub is.
const VERSION: &str = "version";
/// How long registries may take to tell of an image.
const LIMIT: Duration = Duration::from_secs(60);
/// How long an image that can't be read is not asked for again.
const PAUSE: Duration = Duration::from_secs(300);
/// Images that are remembered.
const MOST: usize = 64;

/// What was read of each image, and when; `None`: it could not be read then.
type ReadCache<T> = Mutex<BTreeMap<String, (Instant, Option<T>)>>;

/// What registries have said of images.
#[derive(Default)]
pub(super) struct Images {
    /// What each image serves.
    architectures: ReadCache<Vec<CpuArchitecture>>,
    /// The agent's image in each release.
    components: ReadCache<ReleaseComponent>,
}

/// What was read, unless it is to be read anew.
fn remembered<T: Clone>(all: &ReadCache<T>, url: &str) -> Option<Option<T>> {
    let all = all.lock();
    let (at, read) = all.get(url)?;
    (read.is_some() || at.elapsed() < PAUSE).then(|| read.clone())
}

fn remember<T>(all: &ReadCache<T>, url: &str, read: Option<T>) {
    let mut all = all.lock();
    if all.len() >= MOST {
        all.clear();
    }
    all.insert(url.to_owned(), (Instant::now(), read));
}

impl Images {
    /// The image: what the InfraEnv says, that of metal3 (`own`), that of the hub's release, that of a release of the hub's version for
    /// the architecture, or the service's own.
    pub(super) async fn choose(
        &self,
        hub: &Shared,
        object: &InfraEnv,
        known: &DescribedInfraEnv,
        own: Option<&str>,
    ) -> String {
        if let Some(image) = object.annotations().get(annotation::IRONIC_AGENT_IMAGE_OVERRIDE) {
            return image.clone();
        }
        let wanted = of_image(known.infra_env.cpu_architecture.unwrap_or(ImageCpuArchitecture::X8664));
        let found = timeout(LIMIT, self.find(hub, wanted, &known.pull_secret, own)).await;
        let settings = &hub.service.settings().kube;
        found.ok().flatten().unwrap_or_else(|| match wanted {
            CpuArchitecture::Arm64 => settings.ironic_agent_image_arm.clone(),
            _ => settings.ironic_agent_image.clone(),
        })
    }

    async fn find(
        &self,
        hub: &Shared,
        wanted: CpuArchitecture,
        pull_secret: &Secret,
        own: Option<&str>,
    ) -> Option<String> {
        if let Some(own) = own
            && serves(&self.architectures(hub, own, pull_secret).await, wanted)
        {
            return Some(own.to_owned());
        }
        let version = Api::<ClusterVersion>::all(hub.client.clone()).get(VERSION).await;
        let version =
            optional(version).inspect_err(|error| warn_unreadable("ClusterVersion", error)).ok().flatten()?;
        let release = version.status.unwrap_or_default().desired;
        if let Some(found) = self.component(hub, &release.image, pull_secret).await
            && serves(&found.architectures, wanted)
        {
            return Some(found.image);
        }
        for image_set in hub.cache.image_sets.state() {
            let url = &image_set.spec.release_image;
            let Ok(other) = hub.service.catalogue().release_image(url, pull_secret).await else { continue };
            if other.version != release.version {
                continue;
            }
            if let Some(found) = self.component(hub, url, pull_secret).await
                && serves(&found.architectures, wanted)
            {
                return Some(found.image);
            }
        }
        None
    }

    async fn architectures(&self, hub: &Shared, url: &str, pull_secret: &Secret) -> Vec<CpuArchitecture> {
        if let Some(read) = remembered(&self.architectures, url) {
            return read.unwrap_or_default();
        }
        let read = hub.service.catalogue().image_architectures(url, pull_secret).await;
        let read = read.inspect_err(|error| warn_unreadable(url, error)).ok();
        remember(&self.architectures, url, read.clone());
        read.unwrap_or_default()
    }

    async fn component(&self, hub: &Shared, url: &str, pull_secret: &Secret) -> Option<ReleaseComponent> {
        if url.is_empty() {
            return None;
        }
        if let Some(read) = remembered(&self.components, url) {
            return read;
        }
        let read = hub.service.catalogue().release_component(url, IRONIC_AGENT, pull_secret).await;
        let read = read.inspect_err(|error| warn_unreadable(url, error)).ok();
        remember(&self.components, url, read.clone());
        read
    }
}

fn serves(architectures: &[CpuArchitecture], wanted: CpuArchitecture) -> bool {
    architectures.iter().any(|one| normal(*one) == normal(wanted))
}

fn warn_unreadable(what: &str, error: &(impl std::error::Error + 'static)) {
    let error = assisted_base::error::chain(error);
    tracing::info!(what, error, "whether the image of Ironic's agent can be taken from there is not known");
}
